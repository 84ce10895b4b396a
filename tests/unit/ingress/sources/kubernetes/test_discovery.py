"""Discovery asks again after every failure, and a failure changes nothing of what is followed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from ingress.objects.kinds import OPTIONAL_KINDS, Kind
from ingress.sources.kubernetes.api import ApiServer as Api
from ingress.sources.kubernetes.discovery import Discovery
from ingress.sources.kubernetes.outage import Outage
from ingress.sources.kubernetes.reflecting import ReflectorTimes
from ingress.sources.kubernetes.scope_events import Condition
from tests.fakes.apiserver import ApiServer, Call, Fault
from tests.fakes.sockets import until

pytestmark = pytest.mark.large

GROUP_PATH = "/apis/gateway.networking.k8s.io"


class Heard:
    """What discovery has reported."""

    def __init__(self) -> None:
        self.changes: list[Mapping[Kind, str]] = []
        self.failures: list[tuple[Condition, str]] = []
        self.outage = Outage()

    def fail(self, condition: Condition, problem: str) -> None:
        self.failures.append((condition, problem))


@asynccontextmanager
async def looking(server: ApiServer, place: Path) -> AsyncIterator[Heard]:
    api = await Api.connect(kubeconfig=server.write_kubeconfig(place / "kubeconfig"))
    heard = Heard()
    times = ReflectorTimes().scaled(0.002)
    discovery = Discovery(
        api, take=heard.changes.append, fail=heard.fail, outage=heard.outage, times=times, random=lambda: 0.5
    )
    running = asyncio.create_task(discovery.run())
    try:
        yield heard
        assert not running.done()
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await api.close()


def is_look(call: Call) -> bool:
    return call.path == GROUP_PATH


async def test_what_does_not_change_is_reported_once(tmp_path: Path) -> None:
    async with ApiServer() as server:
        server.custom = frozenset({("v1", "Gateway"), ("v1beta1", "HTTPRoute")})
        async with looking(server, tmp_path) as heard:
            await server.until_calls(is_look, 3)
            assert len(heard.changes) == 1
            followed = {kind: version for kind, version in heard.changes[0].items() if version}
            assert followed == {Kind.GATEWAY: "v1", Kind.HTTP_ROUTE: "v1beta1", Kind.NAMESPACE: "v1"}
            assert heard.failures == []
            assert {call.path for call in server.calls} == {
                GROUP_PATH,
                f"{GROUP_PATH}/v1",
                f"{GROUP_PATH}/v1beta1",
                "/apis/zonal-ingress.io/v1alpha1",
            }


async def test_without_the_group_there_is_one_request_for_each_look(tmp_path: Path) -> None:
    async with ApiServer() as server, looking(server, tmp_path) as heard:
        await server.until_calls(is_look, 3)
        assert heard.changes == [dict.fromkeys(OPTIONAL_KINDS, "")]
        assert all(map(is_look, server.calls))


@pytest.mark.parametrize(
    ("fault", "condition"),
    [
        (Fault(status=403), Condition.FORBIDDEN),
        (Fault(status=503), Condition.UNREACHABLE),
        (Fault(reset=True), Condition.UNREACHABLE),
        (Fault(status=200, html=True), Condition.REJECTED),
    ],
)
async def test_a_look_that_fails_is_reported_and_repeated(tmp_path: Path, fault: Fault, condition: Condition) -> None:
    async with ApiServer() as server:
        server.custom = frozenset({("v1", "Gateway")})
        async with looking(server, tmp_path) as heard:
            await until(lambda: bool(heard.changes))
            server.faults.add(fault)
            await until(lambda: len(heard.failures) >= 3)
            assert {failure[0] for failure in heard.failures} == {condition}
            assert heard.outage.failing == 1
            server.faults.clear()
            await until(lambda: heard.outage.failing == 0)
            assert len(heard.changes) == 1, "failures are no looks"
