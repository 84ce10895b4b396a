"""Gates that wait, over real sockets: what they hold up, what they add, and clients that do not stay."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec
import pytest

from balancer.errors import ErrorKind
from balancer.live import LiveTable
from balancer.matching.gates.verdicts import About, Asked, Deny, Gate, Go, Resume, Waiting
from balancer.metrics.definitions import ERRORS
from balancer.model.gates import GateRule, SourceRanges
from balancer.model.publication import RoutingModel
from tests import builders
from tests.fakes.endpoints import ScriptedEndpoint, Visit
from tests.fakes.sockets import until
from tests.unit.balancer.proxy.standing import GET, Standing, echoes, get, post, shop, standing

DENIED = Deny(ErrorKind.SOURCE_DENIED)


class Held(Waiting):
    """One request that waits."""

    def __init__(self, asked: Asked, resume: Resume) -> None:
        self.asked = asked
        self.resume = resume
        self.cancelled = 0

    def cancel(self) -> None:
        self.cancelled += 1


class SlowGate:
    """Holds every request until the test resumes it."""

    def __init__(self) -> None:
        self.held: list[Held] = []

    def describe(self) -> About:
        return About()

    def judge(self, asked: Asked, resume: Resume) -> Waiting:
        self.held.append(Held(asked, resume))
        return self.held[-1]


def gated(endpoint: ScriptedEndpoint) -> RoutingModel:
    route = msgspec.structs.replace(builders.route("/"), gates=(SourceRanges(),))
    open_route = builders.route("/open")
    return shop([endpoint], hosts=[builders.host("shop.test", route, open_route)])


@asynccontextmanager
async def behind(gate: Gate, endpoint: ScriptedEndpoint) -> AsyncIterator[Standing]:
    """A data plane whose gated route has `gate`."""

    def make(_: GateRule) -> Gate:
        return gate

    async with standing(gated(endpoint), live=LiveTable(lambda limit: 0, make)) as proxy:
        yield proxy


async def test_a_request_waits_for_its_gate_and_then_goes_on_with_what_the_gate_changes() -> None:
    gate = SlowGate()
    async with ScriptedEndpoint(echoes) as endpoint, behind(gate, endpoint) as proxy, proxy.client() as client:
        client.send(get(b"/", b"X-User: mallory"))
        await until(lambda: len(gate.held) == 1)
        assert gate.held[0].asked.origin.peer == "127.0.0.1"
        assert endpoint.requests == 0
        gate.held[0].resume(Go(((b"X-User", b"alice"),), frozenset((b"x-user",))))
        seen = (await client.response()).body
        assert re.findall(rb"(?i)\r\nx-user: (\w+)", seen) == [b"alice"]


async def test_a_gate_that_waited_may_refuse_and_the_connection_goes_on() -> None:
    gate = SlowGate()
    async with ScriptedEndpoint(echoes) as endpoint, behind(gate, endpoint) as proxy, proxy.client() as client:
        client.send(GET)
        await until(lambda: len(gate.held) == 1)
        gate.held[0].resume(DENIED)
        assert (await client.response()).status == 403
        assert (await client.ask(get(b"/open"))).status == 200
        assert endpoint.requests == 1


async def test_requests_behind_a_waiting_one_wait_and_are_answered_in_order() -> None:
    gate = SlowGate()
    async with ScriptedEndpoint(echoes) as endpoint, behind(gate, endpoint) as proxy, proxy.client() as client:
        client.send(get(b"/1") + get(b"/open") + get(b"/2"))
        for path in (b"/1", b"/2"):
            await until(lambda: bool(gate.held))
            assert gate.held[0].asked.request.path == path
            gate.held.pop().resume(Go())
            assert (await client.response()).body.startswith(b"GET %b " % path)
            if path == b"/1":
                assert (await client.response()).body.startswith(b"GET /open ")


async def test_a_waiting_request_holds_up_no_other_client() -> None:
    gate = SlowGate()
    async with (
        ScriptedEndpoint(echoes) as endpoint,
        behind(gate, endpoint) as proxy,
        proxy.client() as slow,
        proxy.client() as other,
    ):
        slow.send(GET)
        await until(lambda: len(gate.held) == 1)
        assert (await other.ask(get(b"/open"))).status == 200
        gate.held[0].resume(Go())
        assert (await slow.response()).status == 200


async def test_a_client_that_leaves_cancels_the_wait_and_a_late_verdict_changes_nothing() -> None:
    gate = SlowGate()
    async with ScriptedEndpoint(echoes) as endpoint, behind(gate, endpoint) as proxy:
        async with proxy.client() as client:
            client.send(GET)
            await until(lambda: len(gate.held) == 1)
            client.reset()
            await until(lambda: not proxy.clients)
        assert gate.held[0].cancelled == 1
        gate.held[0].resume(Go())
        gate.held[0].resume(DENIED)
        assert endpoint.requests == 0
        assert proxy.metric(ERRORS) == {("client_left",): 1}
        assert [line["status"] for line in proxy.log()] == [499]


async def test_a_verdict_that_is_told_twice_counts_once() -> None:
    gate = SlowGate()
    async with ScriptedEndpoint(echoes) as endpoint, behind(gate, endpoint) as proxy, proxy.client() as client:
        client.send(GET)
        await until(lambda: len(gate.held) == 1)
        for verdict in (Go(), Go(), DENIED):
            gate.held[0].resume(verdict)
        assert (await client.response()).status == 200
        assert endpoint.requests == 1
        assert (await client.ask(get(b"/open"))).status == 200


async def test_a_body_waits_for_the_gate_and_then_arrives_whole() -> None:
    async def takes_bodies(visit: Visit) -> None:
        head = await visit.head()
        body = await visit.exactly(300_000)
        await visit.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(head + body) + head + body)

    gate, body = SlowGate(), b"x" * 300_000
    async with ScriptedEndpoint(takes_bodies) as endpoint, behind(gate, endpoint) as proxy, proxy.client() as client:
        client.send(post(body))
        await until(lambda: len(gate.held) == 1)
        gate.held[0].resume(Go())
        assert (await client.response()).body.endswith(body)


@pytest.mark.parametrize("waits", [False, True])
async def test_a_mistake_in_a_gate_cuts_the_connection_and_is_counted(waits: bool) -> None:
    class Broken(SlowGate):
        def describe(self) -> About:
            return About()

        def judge(self, asked: Asked, resume: Resume) -> Waiting:
            if waits:
                return super().judge(asked, resume)
            raise ZeroDivisionError

    gate = Broken()
    async with ScriptedEndpoint(echoes) as endpoint, behind(gate, endpoint) as proxy, proxy.client() as client:
        client.send(GET)
        if waits:
            await until(lambda: len(gate.held) == 1)
            gate.held[0].resume(Go(added=7))  # type: ignore[arg-type]
        with pytest.raises(ConnectionResetError):
            await client.rest()
        assert proxy.metric(ERRORS) == {("internal",): 1}


async def test_what_a_gate_removes_from_one_request_the_next_with_the_same_fields_keeps() -> None:
    gate, claim = SlowGate(), b"X-User: mallory"
    async with ScriptedEndpoint(echoes) as endpoint, behind(gate, endpoint) as proxy, proxy.client() as client:
        for _ in range(2):
            client.send(get(b"/", claim))
            await until(lambda: bool(gate.held))
            gate.held.pop().resume(Go(((b"X-User", b"alice"),), frozenset((b"x-user",))))
            assert re.findall(rb"(?i)\r\nx-user: (\w+)", (await client.response()).body) == [b"alice"]
            seen = (await client.ask(get(b"/open", claim))).body
            assert re.findall(rb"(?i)\r\nx-user: (\w+)", seen) == [b"mallory"]


async def test_the_first_pick_after_a_gate_is_among_the_endpoints_of_then() -> None:
    gate = SlowGate()
    async with (
        ScriptedEndpoint(echoes) as left,
        ScriptedEndpoint(echoes, address="127.0.0.3") as new,
        behind(gate, left) as proxy,
        proxy.client() as client,
    ):
        client.send(get(b"/"))
        await until(lambda: len(gate.held) == 1)
        proxy.publish(gated(new))
        gate.held[0].resume(Go())
        assert (await client.response()).status == 200
        assert (left.requests, new.requests) == (0, 1)
