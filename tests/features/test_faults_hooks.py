"""A hook that never ends, in a process of its own, does not slow requests of other routes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from pathlib import Path

import pytest

from tests.fakes.clients import RawClient
from tests.fakes.endpoints import ScriptedEndpoint
from tests.features.faults.load import HOST, Ledger, Load, honest
from tests.features.faults.stage import Record, staged
from tests.features.hooks.hostile import BODIES, text_of
from tests.features.hooks.serving import START
from tests.integration.manifests import ingress, path, rule

pytestmark = [pytest.mark.faults, pytest.mark.alone, pytest.mark.slow]

NAMES = ("endless", "exit", "gigabytes-of-list", "raise")
ROUNDS = 7
SECONDS = 3.0
RATE = 50
OPENS = 2  # of a process of hooks, which starts at the first request: its socket, and its note
PAUSE_SECONDS = 0.05  # between two requests that ask the hook
TIMES_MOST = 1.1
NOTICED_SECONDS = 0.0005  # below that, a difference of two 99th percentiles is that of two runs of the same


class Hostile:
    """Requests of the route that asks the hook, one after the other. `statuses` are those of the answers."""

    def __init__(self, port: int) -> None:
        self._port = port
        self.statuses: set[int] = set()

    async def beside(self, others: Awaitable[float]) -> float:
        """What `others` come to, while requests ask the hook."""
        asking = asyncio.create_task(self._ask())
        try:
            return await others
        finally:
            asking.cancel()

    async def _ask(self) -> None:
        while True:
            async with RawClient(self._port) as client:
                response = await client.ask(f"GET /hooked/1024/0 HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode())
            self.statuses.add(response.status)
            await asyncio.sleep(PAUSE_SECONDS)


async def p99_of_others(load: Load) -> float:
    await load.steady(rate=RATE, seconds=SECONDS)
    assert load.failures == []
    return load.percentile_seconds(0.99)


@pytest.mark.parametrize("name", NAMES)
async def test_p99_of_other_routes_stays(name: str, tmp_path: Path, record_property: Record) -> None:
    ledger, options = Ledger(), ("--hooks", str(tmp_path / "hostile.py"))
    (tmp_path / "hostile.py").write_text(START + text_of(BODIES[name], "request"))
    async with (
        ScriptedEndpoint(honest(ledger)) as endpoint,
        staged(tmp_path, {"app": [endpoint], "other": [endpoint]}, ledger=ledger, options=options) as stage,
    ):
        stage.opens = OPENS
        generation = await stage.zonal.generation()
        annotations = {"zonal-ingress.io/hooks": "hostile"}
        stage.folder.write(
            "hooked.yaml", ingress("hooked", rule(HOST, path("/hooked", "app")), annotations=annotations)
        )
        await stage.zonal.reaches_generation(generation + 1, seconds=5.0)
        alone, beside, hostile = [], [], Hostile(stage.port)
        loads = [stage.load(prefix="/other") for _ in range(2 * ROUNDS)]  # kept, because their ids are in the requests
        for first, second in zip(loads[::2], loads[1::2], strict=True):
            alone.append(await p99_of_others(first))
            beside.append(await hostile.beside(p99_of_others(second)))
    # The best round of each: what else the machine does makes rounds slower, and none faster.
    record_property("p99 of other routes, ms", min(alone) * 1000)
    record_property("beside the hook, ms", min(beside) * 1000)
    assert hostile.statuses == {503}
    assert min(beside) < min(alone) * TIMES_MOST + NOTICED_SECONDS
