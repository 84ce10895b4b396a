"""What a request holds is given back once when it is over, whichever way it ends."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from balancer.errors import ErrorKind
from balancer.live import LiveTable
from balancer.matching.gates.verdicts import About, Asked, Deny, Gate, Go, Resume, Waiting
from balancer.model.gates import GateRule, SourceRanges
from balancer.model.policies import RoutePolicy
from tests import builders
from tests.fakes.endpoints import Script, ScriptedEndpoint, Visit, answering
from tests.fakes.sockets import until
from tests.unit.balancer.proxy.standing import GET, shop, standing

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Lending:
    """A gate that lends something to every request, and notes what came back."""

    def __init__(self) -> None:
        self.lent = self.returned = 0

    def describe(self) -> About:
        return About()

    def judge(self, asked: Asked, resume: Resume) -> Go | Waiting:
        self.lent += 1
        return Go(release=self.take_back)

    def take_back(self) -> None:
        self.returned += 1


class Denying:
    """The gate behind it, which lets nobody in."""

    def describe(self) -> About:
        return About()

    def judge(self, asked: Asked, resume: Resume) -> Deny:
        return Deny(ErrorKind.CLIENT_BLOCKED)


async def hangs_up(visit: Visit) -> None:
    await visit.head()
    await visit.close()


async def stays_silent(visit: Visit) -> None:
    await visit.head()
    await visit.rest()


def making(*gates: Gate) -> Callable[[GateRule], Gate]:
    """Makes these gates one after the other."""
    left = list(gates)
    return lambda _: left.pop(0)


@pytest.mark.parametrize(
    ("script", "status", "policy"),
    [(answering(OK), 200, RoutePolicy()), (answering(OK), 200, RoutePolicy(body_rate=1024)),
     (hangs_up, 502, RoutePolicy(tries=1)), (hangs_up, 502, RoutePolicy(tries=1, body_rate=1024))],
)  # fmt: skip
async def test_an_answer_ends_it(script: Script, status: int, policy: RoutePolicy) -> None:
    lending = Lending()
    async with ScriptedEndpoint(script) as endpoint:
        route = msgspec.structs.replace(builders.route("/", policy=policy), gates=(SourceRanges(),))
        model = shop([endpoint], hosts=[builders.host("shop.test", route)])
        live = LiveTable(lambda limit: 0, making(lending))
        async with standing(model, live=live) as proxy, proxy.client() as client:
            assert (await client.ask(GET)).status == status
            await until(lambda: (lending.lent, lending.returned) == (1, 1))


async def test_a_refusal_by_a_later_gate_ends_it() -> None:
    lending = Lending()
    async with ScriptedEndpoint(answering(OK)) as endpoint:
        route = msgspec.structs.replace(builders.route("/"), gates=(SourceRanges(), SourceRanges()))
        model = shop([endpoint], hosts=[builders.host("shop.test", route)])
        live = LiveTable(lambda limit: 0, making(lending, Denying()))
        async with standing(model, live=live) as proxy, proxy.client() as client:
            assert (await client.ask(GET)).status == 403
            await until(lambda: (lending.lent, lending.returned) == (1, 1))


async def test_a_client_that_leaves_ends_it() -> None:
    lending = Lending()
    async with ScriptedEndpoint(stays_silent) as endpoint:
        route = msgspec.structs.replace(builders.route("/"), gates=(SourceRanges(),))
        model = shop([endpoint], hosts=[builders.host("shop.test", route)])
        live = LiveTable(lambda limit: 0, making(lending))
        async with standing(model, live=live) as proxy, proxy.client() as client:
            client.send(GET)
            await until(lambda: endpoint.requests == 1)
            assert (lending.lent, lending.returned) == (1, 0)
            client.reset()
            await until(lambda: lending.returned == 1)
