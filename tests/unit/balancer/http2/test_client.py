"""A client's connection: many requests at a time, its deadlines, its end in two steps, and what it survives."""

from __future__ import annotations

from typing import Any

import pytest

from balancer.errors import ErrorKind
from balancer.http2.events import ENHANCE_YOUR_CALM, INTERNAL_ERROR, NO_ERROR
from balancer.runtime.deadlines import NEVER
from tests.fakes.sockets import until
from tests.features.http2 import frames
from tests.unit.balancer.http2.talking import data, get, post, talk

pytestmark = pytest.mark.large

HASTY: dict[str, Any] = {"client_header_timeout_seconds": 0.2, "keep_alive_seconds": 0.2}


async def test_requests_are_served_side_by_side() -> None:
    async with talk(answers=False) as at:
        await at.say(get(1, "/a"), get(3, "/b"))
        second = await at.asked(2)
        second.answer(b"two")
        assert await at.answered(3) == b"two"
        assert not at.peer.streams[1].heads
        at.server.asked[0].answer(b"one")
        assert await at.answered(1) == b"one"
        assert at.connection.idle


@pytest.mark.parametrize("ends", [True, False])
async def test_much_of_an_answer_is_written_at_once(ends: bool) -> None:
    async with talk(answers=False, window=1 << 20) as talking:
        await talking.say(frames.frame(frames.WINDOW_UPDATE, 0, 0, (1 << 20).to_bytes(4)), get(1))
        asked = await talking.asked()
        asked.answer(bytes(200_000), ends=ends)
        assert talking.connection.engine.queued(1) < 64 * 1024


async def test_a_request_that_is_refused_is_answered_alone() -> None:
    async with talk() as at:
        await at.say(get(1, "x"), get(3))
        await until(lambda: at.peer.streams[3].ended)
        assert await at.answered(3) == b"ok"
        assert at.peer.streams[1].is_over


async def test_a_host_with_another_certificate_is_misdirected() -> None:
    async with talk(serves=frozenset({"app.test"})) as at:
        await at.say(get(1), get(3, host="other.test"), get(5))
        assert await at.answered(5) == b"ok"
        refused = [(asked.refused, asked.request is not None) for asked in at.server.asked]
        assert refused == [(None, True), (ErrorKind.MISDIRECTED, True), (None, True)]


async def test_a_drain_serves_what_was_sent_before_its_notice_was_read() -> None:
    async with talk(answers=False) as at:
        await at.say(get(1))
        await at.asked()
        at.peer.answers_pings = False
        at.connection.end_soon()
        await until(lambda: at.peer.goaway == (2**31 - 1, NO_ERROR))
        await at.say(get(3))
        await at.asked(2)
        await until(lambda: at.peer.goaway == (3, NO_ERROR))
        for asked in at.server.asked:
            asked.answer()
        await until(lambda: at.peer.is_lost)
        assert at.peer.streams[1].ended
        assert at.peer.streams[3].ended
        assert at.server.is_closed


async def test_the_last_request_of_a_connection_begins_its_drain() -> None:
    async with talk(keep_alive_requests=2) as at:
        await at.say(get(1))
        await at.answered(1)
        assert at.peer.goaway is None
        await at.say(get(3))
        assert await at.answered(3) == b"ok"
        await until(lambda: at.peer.is_lost)


async def test_an_idle_connection_is_closed() -> None:
    async with talk(**HASTY) as at:
        await at.say(get(1))
        await at.answered(1)
        await until(lambda: at.peer.is_lost)
        assert at.peer.goaway == (1, NO_ERROR)


async def test_a_header_block_must_end_in_time_and_what_is_served_does_not_matter() -> None:
    async with talk(answers=False, **HASTY) as at:
        await at.say(get(1), frames.frame(frames.HEADERS, 1, 3, b"\x82"))
        asked = await at.asked()
        await until(lambda: at.peer.is_lost)
        assert asked.events == ["client_left"]


async def test_each_header_block_has_its_own_time() -> None:
    """A client whose bytes are always cut within a head is not late as long as heads end."""
    async with talk(answers=False) as at:
        heads = [get(number) for number in (1, 3, 5)]
        await until(lambda: at.peer.has_settings)
        at.peer.write(heads[0] + heads[1][:5])
        await at.asked(1)
        first = at.connection.deadline
        at.peer.write(heads[1][5:] + heads[2][:-1])
        await at.asked(2)
        assert first < at.connection.deadline < NEVER
        at.peer.write(heads[2][-1:])
        await at.asked(3)
        await until(lambda: at.connection.deadline == NEVER)


async def test_a_mistake_costs_its_stream_alone(caplog: pytest.LogCaptureFixture) -> None:
    async with talk() as at:
        await at.say(get(1, "/mistake"), get(3))
        assert await at.answered(3) == b"ok"
        await until(lambda: at.peer.streams[1].reset == INTERNAL_ERROR)
    assert "a stream failed" in caplog.text


async def test_a_mistake_in_a_refusal_costs_its_stream_alone(caplog: pytest.LogCaptureFixture) -> None:
    async with talk(answers=False, serves=frozenset({"app.test"})) as at:
        at.server.is_mistaken = True
        await at.say(get(1), get(3, host="other.test"))
        await until(lambda: at.peer.streams[3].reset == INTERNAL_ERROR)
        (await at.asked()).answer()
        assert await at.answered() == b"ok"
    assert "a stream failed" in caplog.text


async def test_a_flood_ends_the_connection_and_is_counted() -> None:
    async with talk(answers=False) as at:
        await at.say(get(1))
        asked = await at.asked()
        await at.say(*[frames.frame(frames.PING, 0, 0, bytes(8))] * 102)
        await until(lambda: at.peer.is_lost)
        assert at.peer.goaway == (1, ENHANCE_YOUR_CALM)
        assert at.tally.floods == ["ping"]
        assert asked.events == ["client_left"]


async def test_the_end_of_the_connection_reaches_every_request() -> None:
    async with talk(answers=False) as at:
        await at.say(get(1), post(3), data(3, b"part"))
        await at.asked(2)
        assert at.peer.transport is not None
        at.peer.transport.abort()
        await until(lambda: at.server.is_closed)
        assert [asked.events for asked in at.server.asked] == [["client_left"], ["client_left"]]


async def test_idle_connections_are_shut_down_and_busy_ones_are_not() -> None:
    async with talk(answers=False) as at:
        await at.say(get(1))
        asked = await at.asked()
        at.connection.shut_down(float("inf"), ends_tunnels=True)
        asked.answer()
        assert await at.answered() == b"ok"
        at.connection.shut_down(float("-inf"), ends_tunnels=True)
        await at.say(get(3))
        (await at.asked(2)).answer()
        assert await at.answered(3) == b"ok"
        at.connection.shut_down(float("inf"), ends_tunnels=True)
        await until(lambda: at.peer.is_lost)
