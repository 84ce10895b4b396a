"""Floods: what costs a peer nothing ends its connection, and what requests and bodies bring does not."""

from __future__ import annotations

import pytest

from balancer.http2.engine import CLIENT, SERVER, Engine
from balancer.http2.engines import H2, NGH2, make_engine
from balancer.http2.events import (
    CANCEL,
    CLOSED,
    ENHANCE_YOUR_CALM,
    FAULT,
    HEAD,
    PROTOCOL_ERROR,
    REFUSED_STREAM,
    RESET,
    TRAILERS,
    EngineLimits,
    Event,
)
from balancer.http2.frames import (
    CONTINUATION,
    DATA,
    GOAWAY,
    HEADERS,
    PING,
    PREFACE,
    PRIORITY,
    RST_STREAM,
    SETTINGS,
    WINDOW_UPDATE,
)
from tests.unit.balancer.http2.pairs import GET, LIBRARIES, OK, POST
from tests.unit.balancer.http2.wire import HELLO, block, frame

OPEN = frame(HEADERS, 0x4, block(POST), 1)
ONE = (1).to_bytes(4)
FRAMES = {
    "settings": frame(SETTINGS, 0, b""),
    "ping": frame(PING, 0, bytes(8)),
    "priority": frame(PRIORITY, 0, bytes(4) + b"\x10", 1),
    "window_update": frame(WINDOW_UPDATE, 0, ONE),
    "empty_data": frame(DATA, 0, b"", 1),
    "goaway": frame(GOAWAY, 0, bytes(8)),
    "unknown": frame(99, 0, b"x"),
}


@pytest.fixture(params=LIBRARIES)
def library(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def server(library: str) -> Engine:
    engine = make_engine(SERVER, EngineLimits(), library)
    engine.receive(HELLO, 0.0)
    engine.take_bytes()
    return engine


def hear(engine: Engine, data: bytes, now: float = 0.0) -> list[Event]:
    events = engine.receive(data, now)
    engine.take_bytes()
    return events + engine.take_events()


def request(stream: int) -> bytes:
    return frame(HEADERS, 0x5, block(GET), stream)


@pytest.mark.parametrize("kind", FRAMES)
def test_a_flood_ends_the_connection(kind: str, library: str) -> None:
    engine = server(library)
    hear(engine, OPEN)
    for _ in range(90):
        assert not [event for event in hear(engine, FRAMES[kind]) if event[0] == FAULT]
    assert hear(engine, FRAMES[kind] * 20) == [(FAULT, 0, ENHANCE_YOUR_CALM, kind)]


LONGER = block((*POST, (b"content-length", b"1")))
CONNECTED = block((*GET, (b"connection", b"close")))


@pytest.mark.parametrize("kind", FRAMES)
def test_as_many_in_a_longer_time_are_no_flood(kind: str, library: str) -> None:
    engine = server(library)
    hear(engine, OPEN)
    for turn in range(10):
        assert not [event for event in hear(engine, FRAMES[kind] * 90, turn * 10.0) if event[0] == FAULT]


def test_the_goaway_of_a_flood_names_its_reason(library: str) -> None:
    engine = server(library)
    engine.receive(FRAMES["ping"] * 101, 0.0)
    assert engine.take_bytes()[-4:] == ENHANCE_YOUR_CALM.to_bytes(4)


def test_streams_that_are_reset_before_their_answer_are_few(library: str) -> None:
    engine = server(library)
    heard: list[Event] = []
    for number in range(200):
        stream = 2 * number + 1
        heard = hear(engine, request(stream) + frame(RST_STREAM, 0, CANCEL.to_bytes(4), stream))
        if heard[-1][0] == FAULT:
            break
    assert (number, heard) == (100, [(FAULT, 0, ENHANCE_YOUR_CALM, "rapid_reset")])


def test_an_endpoint_may_refuse_every_request_without_an_answer(library: str) -> None:
    """Its connection goes on for the requests that it serves."""
    engine = make_engine(CLIENT, EngineLimits(), library)
    hear(engine, frame(SETTINGS, 0, b""))
    for _ in range(300):
        stream = engine.request(GET, True)
        engine.take_bytes()
        heard = hear(engine, frame(RST_STREAM, 0, REFUSED_STREAM.to_bytes(4), stream))
        assert [event[0] for event in heard] == [RESET, CLOSED]


def test_requests_beyond_the_limit_of_streams_are_refused_and_too_many_end_the_connection() -> None:
    """nghttp2 refuses them without a word, as long as its client has not acknowledged the limit. hyper-h2 ends it."""
    engine = make_engine(SERVER, EngineLimits(streams=2), NGH2)
    hear(engine, PREFACE + frame(SETTINGS, 0, b"") + request(1) + request(3))
    for number in range(5, 2004, 2):
        assert hear(engine, request(number)) == []
    assert hear(engine, request(2005)) == [(FAULT, 0, ENHANCE_YOUR_CALM, "provoked_reset")]


@pytest.mark.large
def test_requests_and_trailers_that_are_taken_are_no_flood(library: str) -> None:
    engine = server(library)
    trailers = block(((b"x-sum", b"1"),))
    for number in range(1, 3000, 2):
        heard = hear(engine, frame(HEADERS, 0x4, block(POST), number) + frame(HEADERS, 0x5, trailers, number))
        assert [event[0] for event in heard] == [HEAD, TRAILERS]
        engine.respond(number, OK, True)
        engine.take_bytes()
        engine.take_events()


@pytest.mark.large
def test_answers_may_be_broken_off_as_often_as_they_begin(library: str) -> None:
    engine = server(library)
    for number in range(500):
        stream = 2 * number + 1
        assert hear(engine, request(stream))[-1][0] == HEAD
        engine.respond(stream, OK, False)
        engine.take_bytes()
        assert hear(engine, frame(RST_STREAM, 0, CANCEL.to_bytes(4), stream))[-1][0] != FAULT


@pytest.mark.parametrize("wrong", ["longer", "connection"])
def test_streams_that_we_are_made_to_reset_are_few(wrong: str, library: str) -> None:
    """CVE-2025-8671."""
    engine = server(library)
    for number in range(200):
        stream = 2 * number + 1
        head = frame(HEADERS, 0x4, LONGER, stream) + frame(DATA, 0, b"xx", stream)
        heard = hear(engine, head if wrong == "longer" else frame(HEADERS, 0x5, CONNECTED, stream))
        if heard and heard[-1][0] == FAULT:
            break
    if library == H2 and wrong == "longer":  # hyper-h2 ends the connection with the first
        assert (number, heard[-1][:3]) == (0, (FAULT, 0, PROTOCOL_ERROR))
        return
    # One turn later where the library tells of it only with its RST_STREAM.
    assert number in (100, 101)
    assert heard[-1] == (FAULT, 0, ENHANCE_YOUR_CALM, "provoked_reset")


def test_malformed_requests_that_the_connection_resets_count_as_well(library: str) -> None:
    engine = server(library)
    heard: list[Event] = []
    for number in range(200):
        stream = 2 * number + 1
        heard = hear(engine, request(stream))
        if heard[-1][0] == FAULT:
            break
        engine.reset(stream, 1)
        engine.take_bytes()
    assert heard[-1] == (FAULT, 0, ENHANCE_YOUR_CALM, "provoked_reset")


def test_a_header_block_has_few_pieces_and_few_bytes(library: str) -> None:
    begin = frame(HEADERS, 0x1, block(GET), 1)
    for rest in (frame(CONTINUATION, 0, b"", 1) * 9, frame(CONTINUATION, 0, bytes(16_000), 1) * 5):
        assert hear(server(library), begin + rest)[-1] == (FAULT, 0, ENHANCE_YOUR_CALM, "continuation")
    assert (
        hear(server(library), begin + frame(CONTINUATION, 0, b"", 1) * 7 + frame(CONTINUATION, 4, b"", 1))[-1][0]
        == HEAD
    )


@pytest.mark.large
def test_a_peer_that_receives_may_ping_and_update_windows(library: str) -> None:
    """gRPC pings once in a round trip while data comes; windows are updated for each piece."""
    engine = server(library)
    hear(engine, request(1))
    engine.respond(1, OK, False)
    for _ in range(1000):
        engine.data(1, b"message", False)
        heard = hear(engine, FRAMES["ping"] + FRAMES["window_update"] * 2)
        assert not [event for event in heard if event[0] == FAULT]
