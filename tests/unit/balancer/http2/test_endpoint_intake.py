"""What comes together is handed over together, and nothing of one stream costs another."""

from __future__ import annotations

import pytest

from balancer.errors import ErrorKind
from tests.fakes.http2_endpoints import OK
from tests.fakes.sockets import until
from tests.unit.balancer.http2.sharing import bed, begun


def fails(data: bytes) -> None:
    raise RuntimeError("a mistake")


async def test_a_head_with_its_body_and_trailers_is_handed_over_at_once() -> None:
    async with bed() as made:
        taker, call = await begun(made)
        call.answer(b"world", trailers=((b"x-sum", b"5"),))
        await taker.end()
        assert taker.heard == ["started with everything"]


async def test_frames_of_a_body_that_come_together_are_handed_over_together() -> None:
    async with bed() as made:
        taker, call = await begun(made)
        engine = call.connection.engine
        engine.respond(call.stream, OK, False)
        said = engine.take_bytes()
        for _ in range(3):
            engine.data(call.stream, b"one", False)
            said += engine.take_bytes()
        engine.trailers(call.stream, ((b"x-sum", b"5"),))
        (connection,) = made.connections
        connection.data_received(said + engine.take_bytes())
        assert (taker.heard, taker.body) == (["started with everything"], b"oneoneone")


async def test_what_was_not_written_was_not_processed() -> None:
    async with bed() as made:
        await begun(made)
        (connection,) = made.connections
        taker = await made.begin(b"hello")
        connection.connection_lost(None)
        await taker.end()
        assert taker.failure is ErrorKind.ENDPOINT_REFUSED


async def test_a_mistake_of_ours_costs_one_stream(caplog: pytest.LogCaptureFixture) -> None:
    async with bed() as made:
        broken, call = await begun(made)
        call.answer(b"wor", ends=False)
        await until(lambda: broken.body == b"wor")
        other, second = await begun(made)
        broken.response_data = fails  # type: ignore[method-assign]
        call.say(b"ld", ends=False)
        await broken.end()
        assert broken.failure is ErrorKind.ENDPOINT_CLOSED
        second.answer(b"whole")
        await other.end()
        assert (other.failure, other.body) == (None, b"whole")
        assert len(made.endpoint.connections) == 1
        assert "a stream to an endpoint failed" in caplog.text
