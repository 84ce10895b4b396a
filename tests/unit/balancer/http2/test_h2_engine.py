"""What only the engine with hyper-h2 does: the rest is in test_engine.py, for both."""

from __future__ import annotations

import pytest

from balancer.http2.engine import SERVER
from balancer.http2.engines import H2, make_engine
from balancer.http2.events import CLOSED, FAULT, FRAME_SIZE_ERROR, GOAWAY, HEAD, PROTOCOL_ERROR, EngineLimits
from balancer.http2.frames import DATA, HEADERS, PING, PREFACE, PRIORITY
from balancer.http2.frames import GOAWAY as GOAWAY_KIND
from balancer.http2.h2_engine import H2Engine
from tests.unit.balancer.http2.pairs import GET, OK, Pair
from tests.unit.balancer.http2.wire import HELLO, block, frame


def server() -> H2Engine:
    engine = make_engine(SERVER, EngineLimits(), H2)
    assert isinstance(engine, H2Engine)
    return engine


def test_what_came_before_an_error_in_the_same_bytes_is_not_lost() -> None:
    events = server().receive(HELLO + frame(HEADERS, 0x5, block(GET), 1) + frame(DATA, 0, b"x", 0), 0.0)
    assert [event[0] for event in events][-2:] == [HEAD, FAULT]


def test_a_malformed_request_is_reset_before_anybody_hears_of_it() -> None:
    engine = server()
    engine.receive(HELLO, 0.0)
    engine.take_bytes()
    assert engine.receive(frame(HEADERS, 0x5, block((*GET, (b"connection", b"close"))), 1), 0.0) == []
    assert engine.take_bytes() == frame(3, 0, PROTOCOL_ERROR.to_bytes(4), 1)


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (PREFACE + frame(PING, 0, bytes(8)), PROTOCOL_ERROR),
        (HELLO + (16_385).to_bytes(3) + bytes(6), FRAME_SIZE_ERROR),
    ],
)
def test_settings_come_first_and_frames_have_a_greatest_size(data: bytes, code: int) -> None:
    assert server().receive(data, 0.0)[-1][:3] == (FAULT, 0, code)


def test_priorities_are_ignored() -> None:
    heard = server().receive(HELLO + frame(PRIORITY, 0, (1).to_bytes(4) + b"\x10", 1), 0.0)
    assert not [event for event in heard if event[0] == FAULT]


def test_streams_in_flight_end_after_a_goaway_of_the_endpoint() -> None:
    """hyper-h2 itself would hear of no stream any more."""
    pair = Pair(client=H2)
    stream = pair.client.request(GET, True)
    pair.pump()
    pair.server.goaway(0)
    pair.pump()
    pair.server.respond(stream, OK, True)
    assert (CLOSED, stream, 0) in pair.pump()[0]


def test_data_where_a_response_has_no_body_resets_the_stream() -> None:
    pair = Pair(client=H2)
    stream = pair.client.request(GET, True)
    pair.pump()
    pair.server.respond(stream, ((b":status", b"204"),), False)
    pair.server.data(stream, b"smuggled", True)
    assert (CLOSED, stream, PROTOCOL_ERROR) in pair.pump()[0]


def test_a_goaway_with_the_reserved_bit_is_one() -> None:
    """hyper-h2 would hear it, and hear of no stream any more."""
    engine = server()
    engine.receive(HELLO + frame(HEADERS, 0x5, block(GET), 1), 0.0)
    assert engine.receive(frame(GOAWAY_KIND, 0, bytes(8), 1 << 31), 0.0)[-1][0] == GOAWAY
    engine.respond(1, OK, False)
    engine.data(1, b"x", True)
    engine.take_bytes()
    assert (CLOSED, 1, 0) in engine.take_events()
