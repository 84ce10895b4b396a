"""Plays cases one after the other on a stage, over real sockets."""

from __future__ import annotations

import asyncio
import itertools
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path

from tests.fakes.stopwatch import Stopwatch
from tests.features.gateway.cases import Case, Json, Step
from tests.features.gateway.clients import ask
from tests.features.gateway.documents import Cluster
from tests.features.gateway.judging import Turn, problems_of
from tests.features.gateway.stage import GatewayStage, staged
from tests.features.gateway.standing import invariant_problems, status_problems
from tests.features.gateway.streams import Streams
from tests.features.ingress_nginx.authorities import Authorities
from tests.features.ingress_nginx.clients import Seen

Problems = dict[str, list[str]]
"""What was not as expected, by case id."""

_NOT_SPOKEN = frozenset(("udp",))

_numbers = itertools.count(1)


Staging = Callable[[Sequence[int], Authorities, str | None], AbstractAsyncContextManager[GatewayStage]]


def play_all(cases: Sequence[Case], staging: Staging = staged) -> Problems:
    """Plays `cases`, those of one zone on one stage that `staging` makes."""
    with tempfile.TemporaryDirectory() as place:
        return asyncio.run(_play_all(cases, Authorities(Path(place)), staging))


async def _play_all(cases: Sequence[Case], authorities: Authorities, staging: Staging) -> Problems:
    by_zone: defaultdict[str | None, list[Case]] = defaultdict(list)
    for case in cases:
        by_zone[case.zone.get("own")].append(case)
    ports = sorted({80, 443, *(port for case in cases for port in case.ports)})
    problems: Problems = {}
    for zone, members in by_zone.items():
        async with staging(ports, authorities, zone) as stage:
            for case in members:
                problems[case.id] = await _play_case(stage, case)
                stage.forget()
    return problems


async def _play_case(stage: GatewayStage, case: Case) -> list[str]:
    stage.begin(case)
    cluster = Cluster(case, stage.authorities, stage.place)
    jar = _Kept()
    problems: list[str] = []
    for number, step in enumerate(case.steps):
        for change in step.apply:
            cluster.apply(change)
        for name in step.delete:
            cluster.delete(name)
        stage.show(cluster)
        for change in step.apply:
            if "patchStatus" in change:
                stage.patch_status(change)
        found = await stage.judged(partial(_all_problems, stage, step, cluster))
        for place, request in enumerate(step.requests, 1):
            said = await _play_request(stage, request, jar)
            found += [f"request {place}: {text}" for text in said]
        problems += [f"step {number}: {text}" for text in found]
    jar.streams.close()
    return problems


def _all_problems(stage: GatewayStage, step: Step, cluster: Cluster, statuses: list[Json]) -> list[str]:
    return _status_problems(step, cluster, statuses) + stage.further_problems(step)


def _status_problems(step: Step, cluster: Cluster, statuses: list[Json]) -> list[str]:
    expected = [{"conditions_absent": step.conditions_absent, **each} for each in step.status]
    return status_problems(expected, statuses, cluster) + invariant_problems(statuses, cluster)


class _Kept:
    """What a case remembers of an answer: its cookies and fields, and the endpoint that gave it."""

    def __init__(self) -> None:
        self.fields: list[list[str]] = []
        self.served_by = ("", "")
        self.streams = Streams({})

    def take(self, seen: Seen) -> None:
        self.served_by = seen.served_by
        cookies = [value.partition(";")[0] for name, value in seen.headers if name == "set-cookie"]
        self.fields = [["Cookie", "; ".join(cookies)]] if cookies else []
        self.fields += [[name, value] for name, value in seen.headers if name == "x-session"]


async def _play_request(stage: GatewayStage, request: Json, jar: _Kept) -> list[str]:
    """Asks until the answer is as expected, because a swap may still be on its way."""
    if _NOT_SPOKEN & request.keys():
        return ["UDP is not relayed"]
    sent = request
    if request.get("jar") == "send":
        sent = {**request, "headers": [*request.get("headers", ()), *jar.fields]}
    sent = {**sent, **{name: request["expect"][name] for name in ("pause", "open_for") if name in request["expect"]}}
    deadline = time.monotonic() + stage.patience_seconds
    while True:
        turn = await _turn(stage, sent, jar.streams)
        turn.kept = jar.served_by
        problems = problems_of(request["expect"], turn)
        if not problems or time.monotonic() >= deadline:
            break
        await asyncio.sleep(0.05)
    if request.get("jar") == "take":
        jar.take(turn.last)
    return problems


async def _turn(stage: GatewayStage, request: Json, streams: Streams) -> Turn:
    seen = []
    for _ in range(request.get("repeat", 1)):
        one = Seen(f"g{next(_numbers)}")
        await ask(stage, request, one, streams)
        seen.append(one)
    if "mirrored" in request["expect"]:
        await _copies(stage, request["expect"]["mirrored"], seen)
    return Turn(seen, stage.endpoints.got, stage.zones)


async def _copies(stage: GatewayStage, wanted: Sequence[Json], seen: Sequence[Seen]) -> None:
    """Waits a moment for the copies that are still on their way."""
    watch = Stopwatch()
    while watch.within(1.0):
        got = [each for one in seen for each in stage.endpoints.got.get(one.probe, ())]
        names = [f"{each.namespace}/{each.service}" for each in got]
        if all(isinstance(each["count"], list) or names.count(each["backend"]) >= each["count"] for each in wanted):
            return
        await asyncio.sleep(0.02)
