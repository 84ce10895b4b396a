"""After each flood the process serves at once, and its memory is what it was after the flood before."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.fakes.sockets import until
from tests.fakes.stopwatch import Stopwatch
from tests.features.http2.cases import Case, all_cases
from tests.features.http2.endpoints import OK, Script
from tests.features.http2.playing import Client, Play, ask, connected
from tests.features.http2.running import ENGINES
from tests.features.http2.stage import Stage, staged

_ROUNDS = 3
_MORE_ROUNDS = {"FL-13": 10}  # what its connections hold would show later
_CLEAN_SECONDS = 2.0
_GROWTH = 1.1
_MANY = 20_000


def _flood_of(name: str, *steps: Sequence[object]) -> Case:
    """A flood that the file of cases has not: so many times these steps, behind a request without an end."""
    begun = ["req", 1, {"method": "POST", "end": False}]
    do = [begun, ["repeat", _MANY, list(steps)]]
    return Case(id=name, category="floods", title=name, rule="", do=do, accept=["conn"], answer=False, flood={})


_FLOODS = (
    *(case for case in all_cases() if case.flood is not None),
    _flood_of("reset", ["req", "next"], ["rst", "same", "CANCEL"]),
    _flood_of("ping", ["frame", "PING", 0, 0, "0000000000000000"]),
    _flood_of("priority", ["frame", "PRIORITY", 0, 1, "0000000310"]),
)
_KINDS = {
    "FL-04": "continuation",
    "FL-06": "settings",
    "FL-08": "empty_data",
    "FL-10": "window_update",
    "FL-17": "unknown",
    "reset": "rapid_reset",
    "ping": "ping",
    "priority": "priority",
}


@pytest.mark.slow
@pytest.mark.faults
@pytest.mark.alone
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("case", _FLOODS, ids=lambda case: case.id)
async def test_a_flood_leaves_nothing_behind(case: Case, engine: str, tmp_path: Path) -> None:
    """The first one makes the allocator take what a flood needs; what later ones add would add up."""
    rounds = _MORE_ROUNDS.get(case.id, _ROUNDS)
    async with staged(tmp_path, engine) as stage:
        await _flood(stage, case)
        before = stage.resident_bytes()
        for _ in range(rounds):
            assert await _flood(stage, case) <= _CLEAN_SECONDS
        print(f"{case.id}, {engine}: {before >> 10} KiB, then {stage.resident_bytes() >> 10} KiB")
        await until(lambda: stage.resident_bytes() <= _GROWTH * before)
        if case.id in _KINDS:
            assert await _counted(stage) == {_KINDS[case.id]: 1 + rounds}


async def _counted(stage: Stage) -> dict[str, float]:
    """How many floods the metrics tell of, by kind."""
    samples = (await stage.zonal.metrics())["zonal_http2_floods"].samples
    return {each.labels["kind"]: each.value for each in samples if each.name.endswith("_total")}


async def _flood(stage: Stage, case: Case) -> float:
    """One flood. Returns how many seconds a clean request took right behind it."""
    is_of_endpoint = case.side == "endpoint"
    play = Play(case, case.ways[0], stage.engine)
    if is_of_endpoint:
        stage.http2.begin(Script(case.endpoint, case.endpoint_settings, play.way))
    host = "grpc.test" if is_of_endpoint else "app.test"
    peer = await connected(stage.zonal.https_port, play.address, stage.tls, host)
    await Client(play, peer).play()
    watch = Stopwatch()
    answer = await ask(stage.zonal.https_port, stage.tls)
    assert (answer.ended, bytes(answer.body)) == (True, OK)
    return watch.seconds
