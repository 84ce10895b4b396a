"""The backends of the example shop answer calls, and need nothing that `make shop-backends` does not install."""

from __future__ import annotations

import importlib.util
import re
import sys
from contextlib import AsyncExitStack, ExitStack
from importlib.metadata import packages_distributions
from types import ModuleType

import grpc
import pytest

from tests.features.pages.shop import free_port
from tests.unit.sources import ROOT, outline

SHOP = ROOT / "deploy" / "examples" / "shop"


@pytest.fixture(scope="module")
def backends() -> ModuleType:
    spec = importlib.util.spec_from_file_location("shop_backends", SHOP / "backends.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


async def test_calls_are_answered_with_the_zone(backends: ModuleType) -> None:
    async with AsyncExitStack() as stack:
        port = free_port(stack.enter_context(ExitStack()))
        place = backends.Place("prices", "zone-a", "127.0.0.1", port, True)
        await backends._listen_for_calls(place, stack)
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            for _ in range(3):
                answer = await channel.unary_unary("/shop.Prices/Get")(b"tea")
                assert answer == f"prices 127.0.0.1:{port} in zone-a\n".encode()
            with pytest.raises(grpc.aio.AioRpcError) as refused:
                await channel.unary_unary("/shop.Prices/Set")(b"tea")
            assert refused.value.code() is grpc.StatusCode.UNIMPLEMENTED


def test_they_need_what_runs_zonal_and_no_more() -> None:
    imported = {name.partition(".")[0] for name in outline(SHOP / "backends.py").imports}
    known = packages_distributions()
    needed = {each.lower() for name in imported - sys.stdlib_module_names for each in known[name]}
    installed = set(re.findall(r"^([a-z0-9-]+)==", (ROOT / "requirements" / "run.txt").read_text(), re.MULTILINE))
    assert needed
    assert needed <= installed
