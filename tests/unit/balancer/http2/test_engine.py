"""What every engine does for messages, windows and errors."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from balancer.http2.engine import CLIENT, SERVER
from balancer.http2.engines import H2, make_engine
from balancer.http2.events import (
    CANCEL,
    CLOSED,
    DATA,
    FAULT,
    GOAWAY,
    HEAD,
    INTERIM,
    LAST_STREAM_MAX,
    PING_ACK,
    PROTOCOL_ERROR,
    REFUSED_STREAM,
    RESET,
    SETTINGS,
    TRAILERS,
    WINDOW,
    EngineLimits,
)
from balancer.http2.frames import PREFACE
from tests.unit.balancer.http2.pairs import GET, LIBRARIES, OK, POST, Pair

Pairs = Callable[..., Pair]


@pytest.fixture(params=LIBRARIES)
def library(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=[(client, server) for client in LIBRARIES for server in LIBRARIES], ids="-".join)
def pair_of(request: pytest.FixtureRequest) -> Pairs:
    client, server = request.param
    return lambda limits=None: Pair(limits, client=client, server=server)


NO_SETTINGS = bytes.fromhex("000000040000000000")
NO_STREAMS, NINE_STREAMS = (bytes.fromhex(f"00000604000000000000030000000{count}") for count in (0, 9))


def test_a_request_that_the_peer_takes_no_more_is_taken_back(library: str) -> None:
    engine = make_engine(CLIENT, EngineLimits(), library)
    engine.receive(NO_SETTINGS, 0.0)
    engine.take_bytes()
    stream = engine.request(POST, False)
    engine.data(stream, bytes(100_000), True)
    engine.receive(NO_STREAMS, 0.0)
    if library == H2:  # whose head counts as written
        assert not engine.withdraw(stream)
        return
    assert engine.withdraw(stream)
    assert not engine.withdraw(stream)
    assert engine.queued_in_all() == 0
    engine.receive(NINE_STREAMS, 0.0)
    engine.reset(stream, CANCEL)
    assert len(engine.take_bytes()) < 100, "settings are acknowledged, and no more"
    assert engine.take_events() == []


def test_a_request_that_has_left_is_not_taken_back(library: str) -> None:
    engine = make_engine(CLIENT, EngineLimits(), library)
    engine.receive(NO_SETTINGS, 0.0)
    stream = engine.request(POST, False)
    engine.take_bytes()
    engine.receive(NO_STREAMS, 0.0)
    assert not engine.withdraw(stream)
    engine.reset(stream, CANCEL)
    engine.take_bytes()
    assert engine.take_events() == [(CLOSED, stream, CANCEL)]


def test_a_request_and_its_answer(pair_of: Pairs) -> None:
    pair = pair_of()
    stream = pair.client.request(POST, False)
    pair.client.data(stream, b"ping", False)
    pair.client.trailers(stream, ((b"x-sum", b"1"),))
    assert pair.pump()[1] == [(HEAD, 1, POST, False), (DATA, 1, b"ping", False), (TRAILERS, 1, ((b"x-sum", b"1"),))]
    pair.server.interim(stream, ((b":status", b"103"),))
    pair.server.respond(stream, OK, False)
    pair.server.data(stream, b"pong", True)
    heard, served = pair.pump()
    assert heard == [
        (INTERIM, 1, ((b":status", b"103"),)),
        (HEAD, 1, OK, False),
        (DATA, 1, b"pong", True),
        (CLOSED, 1, 0),
    ]
    assert served == [(CLOSED, 1, 0)]


def test_nothing_is_queued_for_a_stream_that_is_not_there(pair_of: Pairs) -> None:
    """Number 0 is that of a request that the engine has refused; its body may come all the same."""
    pair = pair_of()
    for stream in (0, 1, 77):
        pair.client.data(stream, b"hello", False)
        assert pair.client.queued(stream) == 0
    assert pair.client.queued_in_all() == 0


def test_the_peer_may_send_no_more_than_a_window_until_it_is_given_back(pair_of: Pairs) -> None:
    pair = pair_of(EngineLimits(stream_window=20_000))
    stream = pair.client.request(POST, False)
    pair.client.data(stream, bytes(50_000), True)
    assert sum(len(event[2]) for event in pair.pump()[1] if event[0] == DATA) == 20_000
    assert pair.client.queued(stream) == 30_000
    pair.server.received(stream, 20_000)
    heard, served = pair.pump()
    assert heard == [(WINDOW, stream)]
    assert sum(len(event[2]) for event in served if event[0] == DATA) == 20_000
    pair.server.received(stream, 20_000)
    assert pair.pump()[1][-1] == (DATA, stream, bytes(10_000), True)
    assert pair.client.queued(stream) == 0


@pytest.mark.parametrize("uploads", [True, False], ids=["up", "down"])
def test_streams_share_the_window_of_a_connection_in_turns(pair_of: Pairs, uploads: bool) -> None:
    pair = pair_of(EngineLimits(connection_window=65_535, stream_window=200_000))
    streams = [pair.client.request(POST if uploads else GET, not uploads) for _ in range(3)]
    sender, taker = (pair.client, pair.server) if uploads else (pair.server, pair.client)
    pair.pump()
    for stream in streams:
        if not uploads:
            sender.respond(stream, OK, False)
        sender.data(stream, bytes(100_000), True)
    for _ in range(2):
        for event in pair.pump()[uploads]:
            if event[0] == DATA:
                taker.received(event[1], len(event[2]))
        left = [sender.queued(stream) for stream in streams]
        assert max(left) - min(left) <= 2 * 16_384
    for _ in range(8):
        for event in pair.pump()[uploads]:
            if event[0] == DATA:
                taker.received(event[1], len(event[2]))
    assert [sender.queued(stream) for stream in streams] == [0, 0, 0]


def test_a_stream_that_the_endpoint_does_not_read_holds_up_no_other(pair_of: Pairs) -> None:
    pair = pair_of(EngineLimits(stream_window=20_000))
    stalled, other = (pair.client.request(POST, False) for _ in range(2))
    for _ in range(5):
        pair.client.data(stalled, bytes(15_000), False)
    pair.pump()
    pair.client.data(other, b"hello", False)
    pair.client.data(other, b"again", False)
    pair.client.trailers(other, ((b"x-sum", b"1"),))
    served = pair.pump()[1]
    *pieces, last = (event for event in served if event[1] == other)
    assert b"".join(event[2] for event in pieces) == b"helloagain"
    assert {(event[0], event[3]) for event in pieces} == {(DATA, False)}
    assert last == (TRAILERS, other, ((b"x-sum", b"1"),))
    assert pair.client.queued(stalled) == 55_000
    pair.client.reset(stalled, CANCEL)
    pair.pump()
    assert pair.client.queued(stalled) == 0


def test_a_reset_is_told_and_closes(pair_of: Pairs) -> None:
    pair = pair_of()
    stream = pair.client.request(GET, True)
    pair.pump()
    pair.client.reset(stream, CANCEL)
    heard, served = pair.pump()
    assert heard == [(CLOSED, stream, CANCEL)]
    assert served == [(RESET, stream, CANCEL), (CLOSED, stream, CANCEL)]
    pair.server.respond(stream, OK, True)
    pair.server.data(stream, b"late", True)
    pair.server.trailers(stream, ((b"a", b"b"),))
    pair.server.reset(stream, CANCEL)
    assert pair.pump() == ([], [])


def test_a_drain_loses_no_request(pair_of: Pairs) -> None:
    pair = pair_of()
    assert pair.client.can_request()
    served_stream = pair.client.request(GET, True)
    pair.pump()
    late = pair.client.request(GET, True)
    pair.server.shutdown_notice()
    heard, served = pair.pump()
    assert heard == [(GOAWAY, LAST_STREAM_MAX, 0)]
    assert served == [(HEAD, late, GET, True)]
    assert not pair.client.can_request()
    assert pair.client.request(GET, True) == 0
    pair.server.goaway(0)
    assert pair.pump()[0] == [(GOAWAY, late, 0)]
    for stream in (served_stream, late):
        pair.server.respond(stream, OK, True)
    assert [event for event in pair.pump()[0] if event[0] == CLOSED] == [(CLOSED, served_stream, 0), (CLOSED, late, 0)]


def test_a_stream_that_a_goaway_leaves_out_was_not_processed(pair_of: Pairs) -> None:
    pair = pair_of()
    first = pair.client.request(GET, True)
    pair.pump()
    pair.server.goaway(0)
    left_out = pair.client.request(GET, True)
    assert left_out
    assert (CLOSED, left_out, REFUSED_STREAM) in pair.pump()[0]
    pair.server.respond(first, OK, True)
    assert (CLOSED, first, 0) in pair.pump()[0]


def test_a_goodbye_without_streams_is_the_end_and_no_error(pair_of: Pairs) -> None:
    pair = pair_of()
    pair.server.goaway(0)
    assert pair.pump() == ([(GOAWAY, 0, 0), (FAULT, 0, 0, "")], [(FAULT, 0, 0, "")])
    assert not pair.client.can_request()


def test_an_error_of_an_endpoint_has_its_code(library: str) -> None:
    engine = make_engine(CLIENT, EngineLimits(), library)
    engine.take_bytes()
    events = engine.receive(NO_SETTINGS + bytes.fromhex("00000100000000000000"), 0.0)  # DATA on stream 0
    engine.take_bytes()
    assert (events + engine.take_events())[-1][:3] == (FAULT, 0, PROTOCOL_ERROR)


def test_a_ping_is_answered(pair_of: Pairs) -> None:
    pair = pair_of()
    pair.client.ping(b"12345678")
    assert pair.pump()[0] == [(PING_ACK, 0, b"12345678")]


def test_settings_say_how_many_streams_may_be_open(pair_of: Pairs, library: str) -> None:
    engine = make_engine(SERVER, EngineLimits(), library)
    assert engine.peer_max_streams == 1
    assert pair_of(EngineLimits(streams=7)).client.peer_max_streams == 7
    assert (SETTINGS, 0) in engine.receive(PREFACE + NO_SETTINGS, 0.0)


def test_a_violation_ends_the_connection_with_a_goaway(library: str) -> None:
    engine = make_engine(SERVER, EngineLimits(), library)
    engine.receive(PREFACE + NO_SETTINGS, 0.0)
    engine.take_bytes()
    events = engine.receive(bytes.fromhex("00000100000000000000"), 0.0)  # DATA on stream 0
    assert engine.take_bytes()[3:5] == b"\x07\x00"
    assert (events + engine.take_events())[-1][:3] == (FAULT, 0, PROTOCOL_ERROR)
    assert engine.receive(bytes(100), 0.0) == []
    assert engine.take_bytes() == b""


def test_what_is_no_preface_ends_the_connection(library: str) -> None:
    engine = make_engine(SERVER, EngineLimits(), library)
    assert engine.receive(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", 0.0)[-1][0] == FAULT
    assert engine.take_bytes()[-17:].startswith(bytes.fromhex("0000080700"))


def test_a_header_block_is_open_until_its_end(pair_of: Pairs) -> None:
    pair = pair_of()
    assert pair.server.frames.amid_head == 0
    pair.client.request(GET, True)
    said = pair.client.take_bytes()
    pair.server.receive(said[:5], 0.0)
    assert pair.server.frames.amid_head > 0
    pair.server.receive(said[5:-1], 0.0)
    assert pair.server.frames.amid_head > 0
    assert pair.server.receive(said[-1:], 0.0) == [(HEAD, 1, GET, True)]
    assert pair.server.frames.amid_head == 0
