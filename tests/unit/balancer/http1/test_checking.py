"""Active checks: who is asked, what counts as well, and that nobody is asked any more once the backend is gone."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

import msgspec
import pytest

from balancer.backend import BackendRuntime
from balancer.http1.checking import Checks, is_well
from balancer.members import Member
from balancer.model import HealthCheck
from tests import builders as build
from tests.fakes.endpoints import Script, ScriptedEndpoint, Visit
from tests.fakes.sockets import settled, until
from tests.unit.balancer.proxy.standing import OK, refusing

CHECK = HealthCheck("/well?really", interval_seconds=0.01, timeout_seconds=0.2, threshold=2)


def one_answer(answer: bytes) -> Script:
    """Answers one request and closes."""

    async def script(visit: Visit) -> None:
        await visit.head()
        await visit.send(answer)

    return script


def member(endpoint: ScriptedEndpoint) -> Member:
    return Member(build.endpoint(endpoint.address, port=endpoint.port))


def runtime_of(endpoints: Iterable[ScriptedEndpoint], check: HealthCheck | None = CHECK) -> BackendRuntime:
    backend = build.backend(of=[build.endpoint(item.address, port=item.port) for item in endpoints])
    backend = msgspec.structs.replace(backend, health_check=check)
    return BackendRuntime.fresh(backend, own_zone=build.own_zone(None), random_below=lambda _: 0)


@asynccontextmanager
async def checking(*runtimes: BackendRuntime) -> AsyncIterator[Checks]:
    checks = Checks(lambda: 0.5)
    checks.follow({runtime.backend.key: runtime for runtime in runtimes})
    try:
        yield checks
    finally:
        checks.stop()


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (OK, True),
        (b"HTTP/1.0 204 No Content\r\n\r\n", True),
        (b"HTTP/1.1 302 Found\r\n\r\n", True),
        (b"HTTP/1.1 404 Not Found\r\n\r\n", False),
        (b"HTTP/1.1 503 Service Unavailable\r\n\r\n", False),
        (b"SSH-2.0-OpenSSH\r\n", False),
        (b"HTTP/1.1 abc\r\n", False),
        (b"HTTP/1.1 200", False),
        (b"x" * 5000, False),
        (b"", False),
    ],
)
async def test_an_answer_from_200_to_399_is_well(answer: bytes, expected: bool) -> None:
    async with ScriptedEndpoint(one_answer(answer)) as endpoint:
        assert await is_well(member(endpoint), CHECK) is expected


async def test_the_path_is_asked_for_as_it_is_written() -> None:
    async with ScriptedEndpoint(one_answer(OK)) as endpoint:
        await is_well(member(endpoint), CHECK)
        (visit,) = endpoint.visits
        assert visit.received.startswith(b"GET /well?really HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n" % endpoint.port)
        assert b"\r\nConnection: close\r\n" in visit.received


async def test_silence_is_not_well_in_time() -> None:
    async def silent(visit: Visit) -> None:
        await visit.rest()

    async with ScriptedEndpoint(silent) as endpoint:
        assert not await is_well(member(endpoint), CHECK)
        assert await is_well(member(endpoint), HealthCheck("tcp", timeout_seconds=0.2))


async def test_a_refused_connection_is_not_well() -> None:
    with refusing() as dead:
        assert not await is_well(Member(dead), CHECK)
        assert not await is_well(Member(dead), HealthCheck("tcp"))


async def test_an_endpoint_that_fails_is_unwell_and_well_again_when_it_recovers() -> None:
    answers = [b"HTTP/1.1 500 Oh\r\n\r\n"]

    async def script(visit: Visit) -> None:
        await visit.head()
        await visit.send(answers[0])

    async with ScriptedEndpoint(script) as sick, ScriptedEndpoint(one_answer(OK), address="127.0.0.2") as good:
        runtime = runtime_of([sick, good])
        async with checking(runtime):
            await until(lambda: len(runtime.health.impaired) == 1)
            assert len(sick.visits) >= CHECK.threshold
            assert [each.label for each in runtime.members.values() if not each.health.is_well] == [
                f"127.0.0.1:{sick.port}"
            ]
            answers[0] = OK
            await until(lambda: not runtime.health.impaired)


async def test_what_was_learnt_goes_to_the_newest_runtime_of_the_backend() -> None:
    async with ScriptedEndpoint(one_answer(b"")) as one, ScriptedEndpoint(one_answer(b""), address="127.0.0.2") as two:
        before = runtime_of([one])
        async with checking(before) as checks:
            after = before.with_backend(runtime_of([one, two]).backend, build.own_zone(None))
            checks.follow({after.backend.key: after})
            await until(lambda: len(after.health.impaired) == 2)


@pytest.mark.parametrize("check", [None, HealthCheck("tcp", interval_seconds=3600.0)])
async def test_without_its_check_a_backend_is_asked_no_more(check: HealthCheck | None) -> None:
    async with ScriptedEndpoint(one_answer(OK)) as endpoint:
        before = runtime_of([endpoint])
        async with checking(before) as checks:
            await until(lambda: len(endpoint.visits) > 2)
            after = runtime_of([endpoint], check)
            checks.follow({after.backend.key: after})
            await settled(lambda: len(endpoint.visits))
