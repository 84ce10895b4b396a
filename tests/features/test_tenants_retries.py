"""A tenant whose endpoints fail does not take the retries that hide the rollout of another one."""

from __future__ import annotations

import asyncio
import itertools
import socket
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.fakes.endpoints import ScriptedEndpoint, answering
from tests.features.faults.load import Ledger, Load, honest
from tests.features.faults.stage import Place
from tests.features.tenants.neighbours import Tenant, assert_unharmed, in_one_of_three, neighbours
from tests.integration.manifests import ManifestFolder
from tests.integration.running import Zonal

pytestmark = pytest.mark.faults

_BUSY = answering(b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n")
_RETRIED = {"proxy-next-upstream": "error timeout http_503"}
_LOSSES = 5


class _Rollout:
    """The endpoints of the modest tenant: two are there all the time, and two others have just gone away."""

    def __init__(self, place: Path, endpoints: list[ScriptedEndpoint], held: ExitStack) -> None:
        self._folder = ManifestFolder(place / "manifests")
        self._endpoints = endpoints
        self._held = held
        self._hosts = itertools.count(2)

    def tenant(self) -> Tenant:
        return Tenant("modest", [*self._endpoints, self._gone(), self._gone()])

    async def roll(self, zonal: Zonal) -> None:
        """So many endpoints go away before the control plane knows."""
        for _ in range(_LOSSES):
            generation = await zonal.generation()
            self._folder.write("modest.json", *self.tenant().documents())
            await zonal.reaches_generation(generation + 1, seconds=10.0)

    def _gone(self) -> Place:
        """An address that refuses connections for as long as the test runs."""
        address = f"127.0.1.{next(self._hosts)}"
        holder = self._held.enter_context(socket.socket())
        holder.bind((address, 0))
        return Place(address, holder.getsockname()[1])


async def _rolling(zonal: Zonal, rollout: _Rollout) -> Load:
    load = Load(zonal.http_port, prefix="/modest")
    await asyncio.gather(load.steady(rate=50, seconds=3.0), rollout.roll(zonal))
    return load


@in_one_of_three
@pytest.mark.alone  # beside the whole suite, its times were those of the suite
async def test_a_rollout_beside_a_tenant_whose_endpoints_answer_503_fails_no_request(
    tmp_path: Path, judge_times: bool
) -> None:
    ledger = Ledger()
    async with (
        ScriptedEndpoint(honest(ledger)) as one,
        ScriptedEndpoint(honest(ledger), address="127.0.0.2") as other,
        ScriptedEndpoint(_BUSY) as busy,
        ScriptedEndpoint(_BUSY, address="127.0.0.2") as busier,
    ):
        with ExitStack() as held:
            rollout = _Rollout(tmp_path, [one, other], held)
            greedy = Tenant("greedy", [busy, busier], annotations=_RETRIED)
            async with neighbours(tmp_path, greedy, rollout.tenant()) as zonal:
                alone = await _rolling(zonal, rollout)
                failing = Load(zonal.http_port, prefix="/greedy")
                await failing.steady(rate=200, seconds=1.0)
                beside, _ = await asyncio.gather(_rolling(zonal, rollout), failing.steady(rate=200, seconds=3.0))
    assert failing.answers == []
    assert_unharmed(beside, alone, judge_times)
    assert len(beside.answers) == 150
    assert ledger.doubled_posts == ledger.wrong_bodies == []
