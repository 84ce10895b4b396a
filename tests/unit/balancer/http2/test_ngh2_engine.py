"""What only the engine with ngh2 does."""

from __future__ import annotations

from balancer.http2.engine import FAULT, SERVER, EngineLimits
from balancer.http2.ngh2_engine import Ngh2Engine
from tests.unit.balancer.http2.pairs import GET, Pair


def test_a_header_list_over_its_bound_cuts_the_connection_with_a_goaway() -> None:
    """The library forgets everything then, so the engine writes the last frame."""
    pair = Pair(EngineLimits(header_list_bytes=1000))
    pair.client.request((*GET, (b"x-long", bytes(b"a" * 3000))), True)
    server = pair.server
    assert isinstance(server, Ngh2Engine)
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
