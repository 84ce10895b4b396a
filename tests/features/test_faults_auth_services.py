"""An auth service that is slow and loses answers: right verdicts, and no other route notices."""

from __future__ import annotations

import asyncio
import re
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.fakes.clients import RawClient
from tests.fakes.endpoints import Script, ScriptedEndpoint, Visit
from tests.features.faults.load import HOST, Ledger, honest
from tests.features.faults.stage import Record, Stage, staged
from tests.integration.manifests import ingress, path, rule

pytestmark = [pytest.mark.faults, pytest.mark.alone, pytest.mark.slow]

_RATE, _SECONDS = 300, 8.0
_OTHER_RATE = 100
_ANSWER_SECONDS = 0.05
_LATE_SECONDS = 30.0  # longer than any answer of zonal takes
_NOTICED_SECONDS = 0.03  # less than an answer of the service takes
_YES = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
_NO = b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n"


def verdict_of(number: int) -> int:
    """What a client must get: of forty answers one is lost with its connection, and one never comes."""
    if number % 40 in (7, 27):
        return 500
    return 403 if number % 3 == 0 else 200


def losing(done: asyncio.Event) -> Script:
    """Answers after a while, by the number in the URL, and loses some answers."""

    async def script(visit: Visit) -> None:
        while True:
            head = await visit.head()
            visit.received = b""
            found = re.search(rb"X-Original-URL: [^\r]*/(\d+)\r\n", head)
            assert found
            number = int(found[1])
            await asyncio.sleep(_ANSWER_SECONDS)
            if number % 40 == 7:
                return
            if number % 40 == 27:
                await done.wait()
                return
            await visit.send(_YES if verdict_of(number) == 200 else _NO)

    return script


class _Clients:
    """Sends numbered requests to the guarded path on kept connections."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._idle: list[RawClient] = []
        self.wrong: list[str] = []
        self.statuses: Counter[int] = Counter()

    async def steady(self) -> None:
        started = time.monotonic()
        async with asyncio.TaskGroup() as group:
            for number in range(int(_RATE * _SECONDS)):
                await asyncio.sleep(max(0.0, started + number / _RATE - time.monotonic()))
                group.create_task(self._ask(number))
        for client in self._idle:
            client.writer.close()

    async def _ask(self, number: int) -> None:
        client = self._idle.pop() if self._idle else await RawClient(self._port).__aenter__()
        async with asyncio.timeout(_LATE_SECONDS):
            response = await client.ask(f"GET /guarded/1024/{number} HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode())
        self._idle.append(client)
        self.statuses[response.status] += 1
        if response.status != verdict_of(number):
            self.wrong.append(f"{number}: {response.status}, not {verdict_of(number)}")


async def _p99_of_others(stage: Stage) -> float:
    load = stage.load(prefix="/other")
    await load.steady(rate=_OTHER_RATE, seconds=_SECONDS)
    assert load.failures == []
    return load.percentile_seconds(0.99)


async def test_a_service_that_loses_answers_gives_right_verdicts_and_slows_no_other_route(
    tmp_path: Path, record_property: Record
) -> None:
    ledger, done = Ledger(), asyncio.Event()
    async with (
        ScriptedEndpoint(honest(ledger)) as endpoint,
        ScriptedEndpoint(losing(done)) as auth,
        staged(tmp_path, {"app": [endpoint], "other": [endpoint]}, ledger=ledger) as stage,
    ):
        generation = await stage.zonal.generation()
        annotations = {"nginx.ingress.kubernetes.io/auth-url": f"http://{auth.address}:{auth.port}/"}
        guarded = ingress("guarded", rule(HOST, path("/guarded", "app")), annotations=annotations)
        stage.folder.write("guarded.yaml", guarded)
        await stage.zonal.reaches_generation(generation + 1, seconds=5.0)
        alone = await _p99_of_others(stage)
        clients = _Clients(stage.port)
        _, beside = await asyncio.gather(clients.steady(), _p99_of_others(stage))
        done.set()
        record_property("p99 of other routes, ms", alone * 1000)
        record_property("beside auth requests, ms", beside * 1000)
    assert clients.wrong == []
    assert sum(clients.statuses.values()) == _RATE * _SECONDS
    assert clients.statuses[500] == _RATE * _SECONDS / 20
    assert beside - alone < _NOTICED_SECONDS
