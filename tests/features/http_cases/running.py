"""Plays the chosen cases: quick ones in turn, those that wait for deadlines side by side on a second stage.

Responsible for the order, and for what a category leaves behind in the process.
"""

from __future__ import annotations

import asyncio
import itertools
import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tests.features.http_cases.cases import Case, Way
from tests.features.http_cases.handshakes import HANDSHAKES
from tests.features.http_cases.playing import Play, ask, play_case
from tests.features.http_cases.stage import HASTY, Stage, staged
from tests.integration.running import until

WAITS_FOR_DEADLINES = frozenset({"SLOW-01", "SLOW-02", "SLOW-03", "SLOW-04", "SLOW-07", "RSP-68", "UPG-12"}) | {
    "RL-01",
    "RSP-40",
    "RSP-41",
}
_WATCHED_FOR_STALLS = frozenset({"CHK-33", "PATH-22"})
_LOG_SECONDS = 30.0  # for the last line of the access log to be written
_WARM_UP = 50


class Trace(NamedTuple):
    """The process before and after a category: its open descriptors and its resident memory."""

    descriptors: tuple[int, int]
    resident_bytes: tuple[int, int]


class Results(NamedTuple):
    """What was seen, by case, and what was left behind, by category."""

    plays: dict[str, list[Play]]
    traces: dict[str, Trace]
    handshakes: dict[str, str | None]


async def play_all(cases: Sequence[Case], place: Path) -> Results:
    """Play `cases`, each in all its ways, before processes that keep their files below `place`."""
    results = Results({}, {}, {})
    waiting = [case for case in cases if case.id in WAITS_FOR_DEADLINES]
    handshakes = [case for case in cases if case.side == "tls"]
    quick = [case for case in cases if case.id not in WAITS_FOR_DEADLINES and case.side != "tls"]
    await asyncio.gather(
        _on_stage(results, waiting, place / "hasty", one_by_one=False, settings=HASTY),
        _on_stage(results, quick, place / "patient", one_by_one=True, settings={}),
        _shake_hands(results, handshakes, place / "tls"),
    )
    return results


async def _shake_hands(results: Results, cases: Sequence[Case], place: Path) -> None:
    if not cases:
        return
    async with staged(place) as stage:
        for case in cases:
            try:
                results.handshakes[case.id] = await HANDSHAKES[case.id](stage)
            except OSError as error:  # TLS errors, resets and time-outs, where there should be none
                results.handshakes[case.id] = f"{type(error).__name__}: {error}"


async def _on_stage(
    results: Results, cases: Sequence[Case], place: Path, *, one_by_one: bool, settings: dict[str, str]
) -> None:
    if not cases:
        return
    async with staged(place, **settings) as stage:
        await _warm_up(stage)
        if one_by_one:
            for category, members in itertools.groupby(cases, lambda case: case.category):
                await _play_category(results, stage, category, list(members))
        else:
            await _play_side_by_side(results, stage, cases)
        await _read_logs(stage, [play for case in cases for play in results.plays[case.id]])


async def _warm_up(stage: Stage) -> None:
    for _ in range(_WARM_UP):
        await ask(stage, b"GET / HTTP/1.1\r\nHost: app.test\r\n\r\n")


async def _play_category(results: Results, stage: Stage, category: str, cases: Iterable[Case]) -> None:
    descriptors, resident = await stage.settled_descriptors(), stage.resident_bytes()
    for case in cases:
        results.plays[case.id] = [await _play(stage, case, way) for way in case.ways]
    left = await stage.settled_descriptors(descriptors)  # counted again, one that is open for a moment would be left
    results.traces[category] = Trace((descriptors, left), (resident, stage.resident_bytes()))


async def _play_side_by_side(results: Results, stage: Stage, cases: Sequence[Case]) -> None:
    descriptors, resident = await stage.settled_descriptors(), stage.resident_bytes()
    chosen = [(case, way) for case in cases for way in case.ways]
    plays = await asyncio.gather(*(_play(stage, case, way) for case, way in chosen))
    for play in plays:
        results.plays.setdefault(play.case.id, []).append(play)
    left = await stage.settled_descriptors(descriptors)
    results.traces["(deadlines)"] = Trace((descriptors, left), (resident, stage.resident_bytes()))


async def _play(stage: Stage, case: Case, way: Way) -> Play:
    before = len(stage.zonal.stderr)
    play = await play_case(stage, case, way, watch_stalls=case.id in _WATCHED_FOR_STALLS)
    play.stderr = stage.zonal.stderr[before:]
    return play


async def _read_logs(stage: Stage, plays: Sequence[Play]) -> None:
    """Give each play its lines of the access log, every one of which must be JSON."""
    last = await ask(stage, b"GET /last HTTP/1.1\r\nHost: app.test\r\n\r\n")
    await until(lambda: last.address in stage.zonal.stdout, seconds=_LOG_SECONDS)
    lines: defaultdict[str, list[str]] = defaultdict(list)
    for line in stage.zonal.access_lines:
        record: dict[str, Any] = json.loads(line)
        lines[record["client"]].append(line)
    for play in plays:
        play.access_text = "\n".join(lines[play.address])
        play.access = [json.loads(line) for line in lines[play.address]]
