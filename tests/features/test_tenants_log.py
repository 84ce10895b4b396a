"""While nobody reads the access log, the lines of a busy tenant take no room of another tenant's."""

from __future__ import annotations

import json
import os
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest

from balancer.logs.accesslines import FIELD_CHARACTERS_MAX
from balancer.logs.accesslog import PENDING_BYTES_MAX
from tests.fakes.clients import RawClient
from tests.fakes.endpoints import ScriptedEndpoint
from tests.features.faults.load import Ledger, Load, honest, request_of
from tests.features.tenants.neighbours import Tenant, assert_unharmed, in_one_of_three, manifests
from tests.integration.running import Zonal, until

pytestmark = pytest.mark.faults

_RATE, _SECONDS = 50, 0.5
_LONG = '"' * FIELD_CHARACTERS_MAX  # two characters of JSON each
_FIELDS = f"Referer: {_LONG}\r\nUser-Agent: {_LONG}\r\n"
_LINE_BYTES = 2 * len(_FIELDS)
# Answered by zonal itself: only lines are wanted, and an endpoint would make most of the work.
_REDIRECTED = {"permanent-redirect": "https://elsewhere.test"}
_PIPES_BYTES = 2 * 1024 * 1024  # more than waits between a worker and who reads its lines
_REQUESTS = (_PIPES_BYTES + PENDING_BYTES_MAX) // _LINE_BYTES
_WAVE = 50


class Unread(Zonal):
    """A process whose standard output is a pipe, of which nothing is read but where a test asks for it."""

    def __init__(self, place: Path, *arguments: str) -> None:
        place.mkdir(exist_ok=True)
        os.mkfifo(place / "stdout")
        self._read = bytearray()
        self._reads = os.open(place / "stdout", os.O_RDONLY | os.O_NONBLOCK)
        super().__init__(place, *arguments, anew=True)

    def count(self) -> int:
        """Reads what is there. How many lines have come, without the first one."""
        with suppress(BlockingIOError):
            while some := os.read(self._reads, 1 << 20):
                self._read += some
        return self._read.count(b"\n") - 1

    @property
    def stdout(self) -> str:
        self.count()
        return self._read.decode()

    def kill(self) -> None:
        super().kill()
        os.close(self._reads)


@in_one_of_three
async def test_lines_of_a_busy_tenant_take_no_room_of_another(tmp_path: Path, judge_times: bool) -> None:
    async with ScriptedEndpoint(honest(Ledger())) as endpoint:
        folder = manifests(tmp_path, Tenant("greedy", [endpoint], _REDIRECTED), Tenant("modest", [endpoint]))
        options = ("--source", str(folder.place), "--allow-local-endpoints", "--shutdown-grace-period", "0")
        zonal = Unread(tmp_path / "output", *options)
        try:
            await zonal.is_serving()
            await zonal.is_ready()
            alone, beside = (Load(zonal.http_port, prefix="/modest") for _ in range(2))
            await alone.steady(rate=_RATE, seconds=_SECONDS)
            asked_by_greedy = 0
            async with RawClient(zonal.http_port) as greedy:
                while not await _dropped(zonal):
                    assert asked_by_greedy < 2 * _REQUESTS
                    asked_by_greedy += _WAVE
                    greedy.send(request_of("x", 1, prefix="/greedy", fields=_FIELDS) * _WAVE)
                    assert [(await greedy.response()).status for _ in range(_WAVE)] == [301] * _WAVE
            await beside.steady(rate=_RATE, seconds=_SECONDS)
            dropped = await _dropped(zonal)
            asked = len(alone.answers) + len(beside.answers), asked_by_greedy - dropped
            await until(lambda: zonal.count() == sum(asked), seconds=30.0)
            assert _lines(zonal) == asked
            assert await _dropped(zonal) == dropped
            await zonal.stop()
        finally:
            zonal.kill()
    assert_unharmed(beside, alone, judge_times)


def _lines(zonal: Zonal) -> tuple[int, int]:
    """How many lines of the modest tenant have come, and of the greedy one."""
    found = Counter(json.loads(line)["namespace"] for line in zonal.access_lines)
    return found["modest"], found["greedy"]


async def _dropped(zonal: Zonal) -> int:
    (sample,) = (await zonal.metrics())["zonal_access_log_dropped"].samples
    return int(sample.value)
