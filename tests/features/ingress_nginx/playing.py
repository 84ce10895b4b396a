"""Plays cases: those of a start one after the other, then those that wait side by side."""

from __future__ import annotations

import asyncio
import itertools
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from tests.features.ingress_nginx.authorities import Authorities
from tests.features.ingress_nginx.cases import Case, Json, Start, start_of
from tests.features.ingress_nginx.clients import Client, Seen
from tests.features.ingress_nginx.differences import DIFFERENT
from tests.features.ingress_nginx.judging import Jar, Turn, problems_of
from tests.features.ingress_nginx.matching import matches
from tests.features.ingress_nginx.stage import Stage, staged

Problems = dict[str, list[str]]
"""What was not as expected, by case id."""

_STARTS_AT_ONCE = 4
_WAITING_AT_ONCE = 16
_CHANGE_SECONDS = 6.0  # the file's own figure
_EXCUSED_SECONDS = 0.3  # nobody waits for a change that is not expected to be served
_PLAYED_AGAIN = 2

_numbers = itertools.count(1)


OpenStage = Callable[[Start, Sequence[Case]], AbstractAsyncContextManager[Stage]]
Staging = Callable[[Start, Sequence[Case], Authorities], AbstractAsyncContextManager[Stage]]


def play_all(cases: Sequence[Case], staging: Staging = staged) -> Problems:
    """Play `cases` on stages that `staging` makes.

    A surprise for which a busy machine may be the reason is played again by itself.
    A surprise is a problem of a case that must pass, or an excused case without one.
    """
    with tempfile.TemporaryDirectory() as place:
        authorities = Authorities(Path(place))
        return asyncio.run(_play_all(cases, lambda start, members: staging(start, members, authorities)))


async def _play_all(cases: Sequence[Case], open_stage: OpenStage) -> Problems:
    by_start: defaultdict[Start, list[Case]] = defaultdict(list)
    for case in cases:
        by_start[start_of(case)].append(case)
    permits = asyncio.Semaphore(_STARTS_AT_ONCE)

    async def play(start: Start, members: list[Case]) -> Problems:
        async with permits:
            return await _play_start(start, members, open_stage)

    results = await asyncio.gather(*(play(start, members) for start, members in by_start.items()))
    problems = {case_id: found for each in results for case_id, found in each.items()}
    for case in cases:
        for _ in range(_PLAYED_AGAIN if case.depends_on_time else 0):
            if bool(problems[case.id]) is (case.id not in DIFFERENT):
                problems |= await _play_start(start_of(case), [case], open_stage)
    return problems


async def _play_start(start: Start, cases: Sequence[Case], open_stage: OpenStage) -> Problems:
    """Play the cases of one start. The log is judged at the end, when it is whole."""
    problems: Problems = {}
    permits = asyncio.Semaphore(_WAITING_AT_ONCE)

    async def play(case: Case) -> None:
        async with permits:
            problems[case.id] = await _play_case(stage, case)

    async with open_stage(start, cases) as stage:
        for case in cases:
            if not case.waits:
                problems[case.id] = await _play_case(stage, case)
        await asyncio.gather(*(play(case) for case in cases if case.waits))
    log = stage.log.decode("utf-8", "replace")
    for case in cases:
        for expected in case.expect:
            if "log" in expected and not matches(expected["log"], [log]):
                problems[case.id].append(f"log is not {expected['log']}")
    return problems


async def _play_case(stage: Stage, case: Case) -> list[str]:
    client, jar, problems = Client(stage), Jar(), list[str]()
    try:
        for number, (request, expected) in enumerate(zip(case.requests, case.expect, strict=True), 1):
            found = await _play_request(stage, case, client, jar, request=request, expected=expected)
            problems += [f"request {number}: {text}" for text in found]
    finally:
        client.close()
    return problems


async def _play_request(
    stage: Stage, case: Case, client: Client, jar: Jar, *, request: Json, expected: Json
) -> list[str]:
    await asyncio.sleep(request.get("wait", 0))
    deadline = time.monotonic()
    if "apply" in request:
        stage.apply(case, request["apply"])
        deadline += _EXCUSED_SECONDS if case.id in DIFFERENT else _CHANGE_SECONDS
    while True:
        turn = Turn(stage, case.namespace, request, jar)
        await _send_all(client, turn)
        if turn.request.get("conn") and "closed" in expected:
            turn.last.closed = await client.is_closed(request["conn"])
        problems = await problems_of(expected, turn)
        if not problems or time.monotonic() >= deadline:
            break
        await asyncio.sleep(0.02)
    if request.get("jar") == "take":
        jar.take(turn.last)
    return problems


async def _send_all(client: Client, turn: Turn) -> None:
    """Send the request of `turn` as often as it says, one after the other or at once."""
    request = turn.request
    count = request.get("parallel") or request.get("repeat", 1)
    turn.seen = [Seen(f"p{next(_numbers)}") for _ in range(count)]
    asking = [client.ask(_filled(request, number, turn.jar), seen) for number, seen in enumerate(turn.seen)]
    if "parallel" in request:
        await asyncio.gather(*asking)
        return
    for number, each in enumerate(asking):
        turn.seen[number].started = time.monotonic()
        await each


def _filled(request: Json, number: int, jar: Jar) -> Json:
    """The request that is sent as the one with this number, with placeholders and cookies filled in."""

    def fill(text: str) -> str:
        return text.replace("{i}", str(number)).replace("{last}", jar.served_by[1])

    sources = request.get("from", "127.0.0.1")
    answer = {name: fill(each) if isinstance(each, str) else each for name, each in request.get("answer", {}).items()}
    headers = {name: fill(value) for name, value in request.get("headers", {}).items()}
    if request.get("jar") == "send":
        headers["Cookie"] = "; ".join(filter(None, (headers.get("Cookie"), jar.header)))
    return {
        **request,
        "path": fill(request["path"]),
        "headers": headers,
        "from": sources[number % len(sources)] if isinstance(sources, list) else sources,
        **({"answer": answer} if answer else {}),
    }
