"""A request that waits for a connection is counted for as long as it waits, whatever ends that."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import pytest

from balancer.errors import ErrorKind
from balancer.http.streams import EndpointStream
from balancer.proxy.awaiting import WaitingRequest
from balancer.proxy.context import RequestContext
from balancer.runtime.deadlines import NEVER
from tests.fakes.streams import MemoryEndpointStream, MemoryStream


class Alarm:
    def left(self) -> float:
        return NEVER


class Waiting:
    """A request, its client's connection that counts who waits, and who needs the endpoint."""

    def __init__(self, *, elsewhere: bool = True, fails: bool = False) -> None:
        self.alarm = Alarm()
        self.stream = MemoryStream()
        self.waiting = self
        self.count, self.broken = 0, 0
        self.told: list[object] = []
        self._elsewhere, self._fails = elsewhere, fails
        self.waiter = WaitingRequest(cast(RequestContext, self), self)

    def waits(self) -> None:
        self.count += 1

    def waited(self) -> None:
        self.count -= 1

    def break_off(self) -> None:
        self.broken += 1

    def connected(self, endpoint: EndpointStream) -> None:
        self._hear(endpoint)

    def not_connected(self, kind: ErrorKind) -> None:
        self._hear(kind)

    def leaves(self) -> bool:
        self._hear("leaves")
        return self._elsewhere

    def _hear(self, what: object) -> None:
        assert self.count == 1, "it goes on before the count ends"
        self.told.append(what)
        if self._fails:
            raise ValueError("a fault of ours")


def endpoint() -> MemoryEndpointStream:
    return MemoryEndpointStream(lambda _: None)


def test_it_has_the_time_that_the_request_has_left() -> None:
    assert Waiting().waiter.seconds_left() == NEVER


def test_a_connection_is_handed_on() -> None:
    request, stream = Waiting(), endpoint()
    request.waiter.connecting_ended(stream, ErrorKind.CLIENT_LEFT)
    assert (request.told, request.count, stream.releases) == ([stream], 0, 0)


def test_a_connection_for_a_client_that_has_left_is_given_back() -> None:
    request, stream = Waiting(), endpoint()
    request.stream.closed = True
    request.waiter.connecting_ended(stream, ErrorKind.CLIENT_LEFT)
    assert (request.told, request.count, stream.releases) == ([ErrorKind.CLIENT_LEFT], 0, 1)


def test_a_failure_is_told_by_its_kind() -> None:
    request = Waiting()
    request.waiter.connecting_ended(None, ErrorKind.CONNECT_REFUSED)
    assert (request.told, request.count) == ([ErrorKind.CONNECT_REFUSED], 0)


@pytest.mark.parametrize(("elsewhere", "count"), [(True, 0), (False, 1)])
def test_it_waits_on_if_there_is_no_other_endpoint(elsewhere: bool, count: int) -> None:
    request = Waiting(elsewhere=elsewhere)
    assert request.waiter.goes_elsewhere() is elsewhere
    assert request.count == count


@pytest.mark.parametrize(
    "ends",
    [
        lambda waiter: waiter.connecting_ended(endpoint(), ErrorKind.CLIENT_LEFT),
        lambda waiter: waiter.connecting_ended(None, ErrorKind.CONNECT_REFUSED),
        lambda waiter: waiter.goes_elsewhere(),
    ],
    ids=["connected", "not connected", "elsewhere"],
)
def test_a_fault_on_the_way_on_breaks_the_request_off(ends: Callable[[WaitingRequest], object]) -> None:
    request = Waiting(fails=True)
    ends(request.waiter)
    assert (request.broken, request.count) == (1, 0)
