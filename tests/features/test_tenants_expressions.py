"""A tenant whose expressions are made to cost much, and a client who knows, slow nobody else on the same host."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import pytest

from tests.fakes.clients import RawClient
from tests.fakes.endpoints import ScriptedEndpoint
from tests.features.faults.load import HOST, Ledger, Load, honest
from tests.features.tenants.neighbours import Tenant, assert_unharmed, in_one_of_three, neighbours
from tests.integration.manifests import ingress, path, rule
from tests.integration.running import Zonal

pytestmark = pytest.mark.faults

_USE_REGEX = {"nginx.ingress.kubernetes.io/use-regex": "true"}
_PATHS = [path(f"/g(a|b)*a(a|b){{40}}{number}", "app", kind="ImplementationSpecific") for number in range(8)]
_COSTLY = ingress("costly", rule(HOST, *_PATHS), namespace="greedy", annotations=_USE_REGEX)


async def costly_paths(zonal: Zonal, *, rate: int, seconds: float) -> set[int]:
    """Asks for paths that were made for the expressions, as long as a head may be. Returns the statuses."""
    chance, statuses = random.Random(1), set()
    for _ in range(int(rate * seconds)):
        text = bytes(chance.choice(b"ab") for _ in range(7900))
        async with RawClient(zonal.http_port) as client:
            response = await client.ask(b"GET /g%b HTTP/1.1\r\nHost: %b\r\n\r\n" % (text, HOST.encode()))
        statuses.add(response.status)
        await asyncio.sleep(1 / rate)
    return statuses


@in_one_of_three
async def test_a_path_made_for_costly_expressions_delays_nobody(tmp_path: Path, judge_times: bool) -> None:
    ledger = Ledger()
    async with (
        ScriptedEndpoint(honest(ledger)) as endpoint,
        neighbours(tmp_path, Tenant("greedy", [endpoint], objects=[_COSTLY]), Tenant("modest", [endpoint])) as zonal,
    ):
        alone, beside = Load(zonal.http_port, prefix="/modest"), Load(zonal.http_port, prefix="/modest")
        await alone.steady(rate=50, seconds=1.0)
        statuses, _ = await asyncio.gather(
            costly_paths(zonal, rate=30, seconds=2.0), beside.steady(rate=50, seconds=2.0)
        )
    assert_unharmed(beside, alone, judge_times)
    assert statuses <= {414, 503}
