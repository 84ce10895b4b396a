"""Plays the chosen cases: most of them side by side, floods and what endpoints do one after the other.

Responsible for the order, and for the clean requests beside and after each case.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from tests.fakes.stopwatch import Stopwatch
from tests.features.http2.cases import Case, Way
from tests.features.http2.endpoints import OK, Script
from tests.features.http2.playing import Client, Play, ask, connected
from tests.features.http2.stage import Stage, staged

ENGINES = ("ngh2", "h2")
_AT_ONCE = 24
_BYTE_BY_BYTE_AT_ONCE = 6  # more of them would be held up by each other until their deadlines
_PAUSE_SECONDS = 0.1
_SERVED = 200

Plays = dict[tuple[str, str], list[Play]]
"""What was seen, by engine and case."""


async def play_all(chosen: Sequence[tuple[str, Case]], place: Path) -> Plays:
    """Plays each case with its engine, in all its ways."""
    plays: Plays = {}
    async with asyncio.TaskGroup() as group:
        for engine in ENGINES:
            cases = [case for each, case in chosen if each == engine]
            calm = [case for case in cases if case.flood is None or case.side == "endpoint"]
            floods = [case for case in cases if case.flood is not None and case.side != "endpoint"]
            group.create_task(_play_calm(plays, engine, calm, place / engine))
            group.create_task(_play_floods(plays, engine, floods, place / f"{engine}-floods"))
    return plays


async def _play_calm(plays: Plays, engine: str, cases: Sequence[Case], place: Path) -> None:
    if not cases:
        return
    async with staged(place, engine) as stage:
        turns, slow_turns = asyncio.Semaphore(_AT_ONCE), asyncio.Semaphore(_BYTE_BY_BYTE_AT_ONCE)
        async with asyncio.TaskGroup() as group:
            for case in cases:
                if case.side != "endpoint":
                    for way in case.ways:
                        of_way = slow_turns if way is Way.BYTES else turns
                        group.create_task(_play_in_turn(plays, stage, case, way, of_way))
            group.create_task(_play_endpoints(plays, stage, [case for case in cases if case.side == "endpoint"]))
        _tell_rubbish(plays, stage, cases)


async def _play_in_turn(plays: Plays, stage: Stage, case: Case, way: Way, turns: asyncio.Semaphore) -> None:
    async with turns:
        _add(plays, await _play(stage, case, way))


async def _play_endpoints(plays: Plays, stage: Stage, cases: Sequence[Case]) -> None:
    for case in cases:
        for way in case.ways:
            stage.http2.begin(Script(case.endpoint, case.endpoint_settings, way))
            resident = stage.resident_bytes()
            play = await _play(stage, case, Way.ONE_WRITE)
            play.way, play.growth_bytes = way, stage.resident_bytes() - resident
            play.requests, play.notes = stage.http2.received, stage.http2.notes
            play.most_streams = stage.http2.most_streams
            _add(plays, play)


async def _play_floods(plays: Plays, engine: str, cases: Sequence[Case], place: Path) -> None:
    if not cases:
        return
    async with staged(place, engine) as stage:
        for case in cases:
            for way in case.ways:
                resident = stage.resident_bytes()
                over = asyncio.Event()
                asking = asyncio.create_task(_keep_asking(stage, over))
                play = await _play(stage, case, way)
                play.growth_bytes = stage.resident_bytes() - resident
                over.set()
                play.clean_seconds += await asking
                _add(plays, play)
        _tell_rubbish(plays, stage, cases)


async def _keep_asking(stage: Stage, over: asyncio.Event) -> list[float | None]:
    seconds = []
    while not over.is_set():
        seconds.append(await _ask(stage))
        await asyncio.sleep(_PAUSE_SECONDS)
    return seconds


async def _ask(stage: Stage) -> float | None:
    """The seconds that a clean request took, None if it was not served."""
    watch = Stopwatch()
    answer = await ask(stage.zonal.https_port, stage.tls)
    served = answer.ended and answer.status == _SERVED and bytes(answer.body) == OK
    return watch.seconds if served else None


async def _play(stage: Stage, case: Case, way: Way) -> Play:
    play = Play(case, way, stage.engine)
    name = "grpc.test" if case.side == "endpoint" else "app.test"
    peer = await connected(stage.zonal.https_port, play.address, stage.tls, name)
    await Client(play, peer).play()
    play.streams, play.goaway, play.unexpected = peer.streams, peer.goaway, peer.unexpected
    play.requests = [request for endpoint in stage.http1.values() for request in endpoint.of(play.address)]
    play.clean_seconds.append(await _ask(stage))
    return play


def _add(plays: Plays, play: Play) -> None:
    plays.setdefault((play.engine, play.case.id), []).append(play)


def _tell_rubbish(plays: Plays, stage: Stage, cases: Sequence[Case]) -> None:
    """What an endpoint could not read belongs to every play of the stage: nobody knows whose it was."""
    for endpoint in stage.http1.values():
        if endpoint.rubbish:
            for case in cases:
                for play in plays[stage.engine, case.id]:
                    play.unexpected.append(f"rubbish to an endpoint: {endpoint.rubbish[:100]!r}")
