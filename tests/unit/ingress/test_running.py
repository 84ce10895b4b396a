"""Which event loop the process runs on."""

from __future__ import annotations

import asyncio

import pytest
import uvloop

from ingress.running import loop_factory


@pytest.mark.parametrize(
    ("name", "module"), [("asyncio", "asyncio"), ("uvloop", "uvloop"), ("auto", uvloop.Loop.__module__)]
)
def test_the_loop_is_of_the_kind_that_was_asked_for(name: str, module: str) -> None:
    with asyncio.Runner(loop_factory=loop_factory(name)) as runner:
        assert type(runner.get_loop()).__module__.startswith(module)
