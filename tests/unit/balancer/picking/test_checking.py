"""Active checks: who is asked, what counts as well, and that nobody is asked any more once the backend is gone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

import msgspec
import pytest

from balancer.connections.probing import Probes
from balancer.model.endpoints import BackendKey, HealthCheck
from balancer.model.zones import ZoneFacts
from balancer.picking.backend import BackendRuntime
from balancer.picking.checking import Checks, OnChange
from balancer.picking.endpoint_health import Change
from balancer.picking.members import Member
from balancer.zones.verdicts import Surroundings
from tests import builders as build
from tests.fakes.endpoints import Script, ScriptedEndpoint, Visit
from tests.fakes.sockets import settled, until
from tests.unit.balancer.proxy.standing import OK

CHECK = HealthCheck("/well?really", interval_seconds=0.01, timeout_seconds=0.2, threshold=2)


def one_answer(answer: bytes) -> Script:
    """Answers one request and closes."""

    async def script(visit: Visit) -> None:
        await visit.head()
        await visit.send(answer)

    return script


def runtime_of(endpoints: Iterable[ScriptedEndpoint], check: HealthCheck | None = CHECK) -> BackendRuntime:
    backend = build.backend(of=[build.endpoint(item.address, port=item.port) for item in endpoints])
    backend = msgspec.structs.replace(backend, health_check=check)
    return BackendRuntime.fresh(backend, own_zone=build.own_zone(None), random_below=lambda _: 0)


@asynccontextmanager
async def checking(*runtimes: BackendRuntime, on_change: OnChange = lambda *_: None) -> AsyncIterator[Checks]:
    probes = Probes()
    checks = Checks(on_change, probe=probes.is_well, chance=lambda: 0.5)
    by_key = {runtime.backend.key: runtime for runtime in runtimes}
    checks.follow(by_key, by_key)
    try:
        yield checks
    finally:
        checks.stop()
        await probes.close()


async def test_an_endpoint_that_fails_is_unwell_and_well_again_when_it_recovers() -> None:
    answers = [b"HTTP/1.1 500 Oh\r\n\r\n"]

    async def script(visit: Visit) -> None:
        await visit.head()
        await visit.send(answers[0])

    async with ScriptedEndpoint(script) as sick, ScriptedEndpoint(one_answer(OK), address="127.0.0.2") as good:
        runtime = runtime_of([sick, good])
        changes: list[tuple[str, Change]] = []
        async with checking(runtime, on_change=lambda _, member, change: changes.append((member.label, change))):
            await until(lambda: len(runtime.health.impaired) == 1)
            assert len(sick.visits) >= CHECK.threshold
            assert [each.label for each in runtime.members.values() if not each.health.is_well] == [
                f"127.0.0.1:{sick.port}"
            ]
            answers[0] = OK
            await until(lambda: not runtime.health.impaired)
        label = f"127.0.0.1:{sick.port}"
        assert changes == [(label, Change.FAILS_CHECKS), (label, Change.PASSES_CHECKS)]


async def test_what_was_learnt_goes_to_the_newest_runtime_of_the_backend() -> None:
    async with ScriptedEndpoint(one_answer(b"")) as one, ScriptedEndpoint(one_answer(b""), address="127.0.0.2") as two:
        before = runtime_of([one])
        async with checking(before) as checks:
            after = before.with_backend(runtime_of([one, two]).backend, build.own_zone(None))
            after.settle(Surroundings(build.own_zone(None), ZoneFacts()))
            checks.follow({after.backend.key: after}, [after.backend.key])
            await until(lambda: len(after.health.impaired) == 2)


@pytest.mark.parametrize("check", [None, HealthCheck("tcp", interval_seconds=3600.0)])
async def test_without_its_check_a_backend_is_asked_no_more(check: HealthCheck | None) -> None:
    async with ScriptedEndpoint(one_answer(OK)) as endpoint:
        before = runtime_of([endpoint])
        async with checking(before) as checks:
            await until(lambda: len(endpoint.visits) > 2)
            after = runtime_of([endpoint], check)
            checks.follow({after.backend.key: after}, [after.backend.key])
            await settled(lambda: len(endpoint.visits))


async def test_a_backend_that_is_not_concerned_is_checked_as_before() -> None:
    async with ScriptedEndpoint(one_answer(OK)) as one, ScriptedEndpoint(one_answer(OK), address="127.0.0.2") as two:
        first, second = runtime_of([one]), runtime_of([two])
        second.backend = msgspec.structs.replace(second.backend, key=BackendKey("shop/pay:80"))
        async with checking(first, second) as checks:
            checks.follow({second.backend.key: second}, [first.backend.key])
            asked = len(two.visits)
            await until(lambda: len(two.visits) > asked + 1)
            await settled(lambda: len(one.visits))


async def test_checks_of_a_namespace_without_answers_leave_those_of_another_alone() -> None:
    """Each probe of the greedy namespace hangs, and it has more endpoints than a namespace is probed at once."""
    under_way: dict[str, int] = {"greedy": 0, "modest": 0}
    hangs = asyncio.Event()

    async def probe(member: Member, check: HealthCheck, _tls: object) -> bool:
        under_way[check.host] += 1
        if check.host == "greedy":
            await hangs.wait()
        return True

    runtimes = {}
    for number in range(6):
        host = "greedy" if number else "modest"
        backend = build.backend(of=[build.endpoint(f"10.0.{number}.{last}") for last in range(1, 61)])
        key = BackendKey(f"{host}/app-{number}:80")
        check = msgspec.structs.replace(CHECK, host=host)
        backend = msgspec.structs.replace(backend, key=key, namespace=host, health_check=check)
        runtimes[key] = BackendRuntime.fresh(backend, own_zone=build.own_zone(None), random_below=lambda _: 0)
    checks = Checks(lambda *_: None, probe=probe, chance=lambda: 0.5)
    checks.follow(runtimes, runtimes)
    await until(lambda: under_way["greedy"] == 200 and under_way["modest"] > 200)
    await settled(lambda: under_way["greedy"])
    assert under_way["greedy"] == 200
    checks.stop()
