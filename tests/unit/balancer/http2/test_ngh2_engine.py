"""What only the engine with ngh2 does."""

from __future__ import annotations

import pytest
from ngh2 import NeverIndexedHeader

from balancer.http2.engine import SERVER
from balancer.http2.engines import BINDING, NGH2
from balancer.http2.events import DATA, FAULT, HEAD, EngineLimits
from balancer.http2.fields import NEVER_ALIKE
from balancer.http2.ngh2_engine import Ngh2Engine
from tests.unit.balancer.http2.pairs import GET, OK, POST, Pair


def test_a_header_list_over_its_bound_cuts_the_connection_with_a_goaway() -> None:
    """The library forgets everything then, so the engine writes the last frame."""
    pair = Pair(EngineLimits(header_list_bytes=1000))
    pair.client.request((*GET, (b"x-long", bytes(b"a" * 3000))), True)
    server = pair.server
    assert server.receive(pair.client.take_bytes(), 0.0)[-1][0] == FAULT
    assert server.take_bytes()[:5] == bytes.fromhex("0000080700")
    server.ping(b"12345678")
    server.goaway(0)
    assert server.take_bytes() == b""


def test_streams_that_share_a_window_take_turns() -> None:
    pair = Pair(EngineLimits(connection_window=65_535, stream_window=200_000))
    streams = [pair.client.request(GET, True) for _ in range(2)]
    pair.pump()
    for stream in streams:
        pair.server.respond(stream, ((b":status", b"200"),), False)
        pair.server.data(stream, bytes(100_000), True)
    pair.pump()
    left = [pair.server.queued(stream) for stream in streams]
    assert max(left) - min(left) <= 16_384
    assert Ngh2Engine(SERVER, EngineLimits()).take_bytes()


def test_a_piece_of_an_upload_never_overtakes_one_that_waits_for_the_window() -> None:
    """The first piece is larger than the window of the stream; the connection has room for the last one."""
    pair, body = Pair(), bytearray()
    first, last = b"a" * 100_000, b"z" * 1_000
    stream = pair.client.request(POST, False)
    pair.client.data(stream, first, False)
    _, served = pair.pump()
    pair.client.data(stream, last, True)
    ended = False
    while not ended:
        assert served
        for event in served:
            if event[0] == DATA:
                body += event[2]
                ended = event[3]
                pair.server.received(stream, len(event[2]))
        _, served = pair.pump()
    assert bytes(body) == first + last


def test_a_short_upload_is_one_frame_with_its_end() -> None:
    pair = Pair()
    stream = pair.client.request(POST, False)
    pair.client.data(stream, b"hello", False)
    pair.client.data(stream, b"", True)
    _, served = pair.pump()
    assert [event for event in served if event[0] == DATA] == [(DATA, stream, b"hello", True)]


def test_an_engine_that_has_nothing_to_say_knows_it() -> None:
    pair = Pair()
    stream = pair.client.request(GET, True)
    pair.pump()
    assert not pair.client.has_bytes()
    assert not pair.server.has_bytes()
    pair.server.respond(stream, OK, True)
    assert pair.server.has_bytes()


@pytest.mark.parametrize("library", [NGH2, BINDING])
def test_fields_that_are_others_in_each_message_are_never_indexed(library: str) -> None:
    """Each would push a field out of the table that comes again."""
    odd = tuple((name, b"1" * 32) for name in sorted(NEVER_ALIKE))
    pair = Pair(client=library, server=library)
    stream = pair.client.request((*GET, (b"x-alike", b"1"), *odd), True)
    asked = [event[2] for event in pair.pump()[1] if event[0] == HEAD]
    pair.server.respond(stream, (*OK, *odd), True)
    answered = [event[2] for event in pair.pump()[0] if event[0] == HEAD]
    for fields in (*asked, *answered):
        assert {name for name, *_ in fields if name in NEVER_ALIKE} == NEVER_ALIKE
        assert {field[0] for field in fields if isinstance(field, NeverIndexedHeader)} == NEVER_ALIKE
