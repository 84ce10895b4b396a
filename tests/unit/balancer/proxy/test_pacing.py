"""The pace of a response body: arithmetic on a clock of numbers, and what waits where while a client is held back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.errors import AttemptError, ErrorKind, Refusal, Sent
from balancer.http.edits import HeadEdit
from balancer.http.messages import ResponseHead, Trailers
from balancer.model.policies import RoutePolicy
from balancer.proxy.pacing import Pace, PacedStream
from balancer.runtime.deadlines import Alarm, Deadlines
from tests.fakes.sockets import until
from tests.fakes.streams import MemoryStream

HEAD = ResponseHead(200, (), 300, b"")
EDIT = HeadEdit()
LEFT = AttemptError(ErrorKind.CLIENT_LEFT, Sent.BODY, answered=True)
BODY = bytes(range(100)) * 3


def test_the_bytes_of_one_second_go_at_once_and_then_as_many_a_second() -> None:
    pace = Pace(rate=100, after=0, now=50.0)
    assert [pace.take(1000, 50.0), pace.take(1000, 50.0)] == [100, 0]
    assert [pace.take(1000, 50.5), pace.take(10, 51.0), pace.take(1000, 51.0)] == [50, 10, 40]


def test_the_rate_begins_after_so_many_bytes() -> None:
    pace = Pace(rate=100, after=1000, now=0.0)
    assert [pace.take(900, 0.0), pace.take(900, 0.0), pace.take(900, 1.0)] == [900, 200, 100]


@given(st.integers(1, 10_000), st.integers(0, 10_000), st.lists(st.tuples(st.integers(1, 5000), st.integers(0, 100))))
def test_never_more_than_the_rate_allows(rate: int, after: int, steps: list[tuple[int, int]]) -> None:
    pace, now, sent = Pace(rate=rate, after=after, now=0.0), 0.0, 0
    for wanted, tenths in steps:
        now += tenths / 10
        sent += pace.take(wanted, now)
        assert sent <= after + rate * (1 + now)


class Consumer:
    """Notes the events of the client."""

    def __init__(self) -> None:
        self.events: list[str] = []

    def request_data(self, data: bytes) -> None:
        self.events.append(f"data {len(data)}")

    def request_end(self, trailers: Trailers) -> None:
        self.events.append("end")

    def request_rest(self, data: bytes, trailers: Trailers) -> None:
        self.events.append(f"rest {len(data)}")

    def request_failed(self, refusal: Refusal) -> None:
        self.events.append("failed")

    def client_lost(self, kind: ErrorKind) -> None:
        self.events.append("lost")

    def client_paused(self) -> None:
        self.events.append("paused")

    def client_resumed(self) -> None:
        self.events.append("resumed")


class Rig:
    """A paced stream before a stream in memory, and an exchange that takes events."""

    def __init__(self, deadlines: Deadlines, rate: int, send_timeout_seconds: float) -> None:
        self.inner = MemoryStream()
        alarm = Alarm(deadlines, asyncio.get_running_loop())
        policy = RoutePolicy(body_rate=rate, send_timeout_seconds=send_timeout_seconds)
        self.paced = PacedStream(self.inner, policy, alarm)
        self.consumer = Consumer()
        self.delivered: list[AttemptError | None] = []
        self.paced.attach(self.consumer)

    def deliver(self) -> bool:
        """The exchange is over. Whether everything is written."""
        self.paced.detach()
        return self.paced.is_delivered(self.delivered.append)


@asynccontextmanager
async def rig(rate: int = 100, send_timeout_seconds: float = 60.0) -> AsyncIterator[Rig]:
    deadlines = Deadlines(asyncio.get_running_loop())
    rig = Rig(deadlines, rate, send_timeout_seconds)
    yield rig
    rig.paced.release()
    deadlines.stop()


async def test_a_body_within_its_rate_is_written_as_it_comes() -> None:
    async with rig(rate=1000) as paced:
        paced.paced.respond(HEAD, EDIT, BODY, ())
        assert (paced.inner.body, paced.inner.trailers) == (BODY, ())
        assert paced.deliver()
        assert (paced.delivered, paced.consumer.events) == ([], [])


@pytest.mark.large
async def test_what_may_not_be_sent_yet_holds_the_endpoint_back() -> None:
    async with rig() as paced:
        started = asyncio.get_running_loop().time()
        paced.paced.respond(HEAD, EDIT, BODY[:150], None)
        assert paced.inner.body == BODY[:100]
        assert paced.consumer.events == ["paused"]
        assert paced.paced.writing_paused
        await until(lambda: paced.consumer.events[-1] == "resumed")
        assert paced.inner.body == BODY[:150]
        assert asyncio.get_running_loop().time() - started > 0.49
        paced.paced.send(BODY[150:])
        paced.paced.finish(())
        assert len(paced.inner.body) < 300
        assert not paced.deliver()
        await until(lambda: paced.delivered == [None])
        assert (paced.inner.body, paced.inner.trailers) == (BODY, ())
        assert asyncio.get_running_loop().time() - started > 1.99


@pytest.mark.large
async def test_a_whole_response_is_delivered_after_its_exchange_is_over() -> None:
    async with rig(rate=200) as paced:
        paced.paced.respond(HEAD, EDIT, BODY, ())
        assert not paced.deliver()
        await until(lambda: paced.delivered == [None])
        assert (paced.inner.body, paced.inner.trailers) == (BODY, ())


async def test_a_client_that_leaves_ends_it() -> None:
    async with rig() as paced:
        paced.paced.respond(HEAD, EDIT, BODY, None)
        paced.inner.leave()
        assert paced.consumer.events == ["paused", "lost"]
        assert paced.paced.closed
    async with rig() as paced:
        paced.paced.respond(HEAD, EDIT, BODY, ())
        assert not paced.deliver()
        paced.inner.leave()
        assert paced.delivered == [LEFT]


async def test_a_client_that_does_not_read_the_rest_in_time_is_cut() -> None:
    async with rig(rate=280, send_timeout_seconds=0.1) as paced:
        paced.paced.respond(HEAD, EDIT, BODY, ())
        paced.inner.writing_paused = True
        assert not paced.deliver()
        await until(lambda: paced.delivered == [LEFT])


@pytest.mark.large
async def test_a_client_that_reads_again_gets_the_rest() -> None:
    async with rig(rate=280) as paced:
        paced.paced.respond(HEAD, EDIT, BODY, None)
        paced.inner.writing_paused = True
        paced.paced.client_paused()
        assert paced.inner.body == BODY[:280]
        paced.inner.writing_paused = False
        paced.paced.client_resumed()
        await until(lambda: paced.inner.body == BODY)
        await until(lambda: paced.consumer.events[-1] == "resumed")


async def test_pauses_of_a_client_go_on_to_the_exchange_when_nothing_waits() -> None:
    async with rig(rate=1000) as paced:
        paced.paced.respond(HEAD, EDIT, BODY, None)
        paced.paced.client_paused()
        paced.paced.client_resumed()
        assert paced.consumer.events == ["paused", "resumed"]


async def test_tunnels_and_bodies_of_requests_have_no_pace() -> None:
    async with rig(rate=1) as paced:
        paced.paced.start_body()
        paced.inner.say(b"abc", ends=True)
        paced.paced.request_failed(Refusal(ErrorKind.BAD_REQUEST, "a test"))
        assert paced.consumer.events == ["data 3", "end", "failed"]
        paced.paced.interim(ResponseHead(100, (), 0, b""))
        held = []
        for change in (paced.paced.hold, paced.paced.resume):
            change()
            held.append(paced.inner.is_held)
        assert held == [True, False]
        paced.paced.switch(ResponseHead(101, (), 0, b"websocket"), EDIT, b"12345")
        paced.paced.send(b"67890")
        assert paced.inner.body == b"1234567890"


async def test_a_reset_drops_what_waits() -> None:
    async with rig() as paced:
        paced.paced.respond(HEAD, EDIT, BODY, None)
        paced.paced.reset()
        assert (paced.inner.is_reset, paced.paced.writing_paused) == (True, False)


@pytest.mark.parametrize("name", ["origin", "secure", "closed", "body_begun", "last"])
async def test_the_facts_of_the_stream_are_those_of_the_clients_stream(name: str) -> None:
    async with rig() as paced:
        assert getattr(paced.paced, name) == getattr(paced.inner, name)
    async with rig() as paced:
        paced.paced.last = True
        assert paced.inner.last is True
