"""Whose bytes wait for the peer, and who is held up by that: a stream with an empty window holds up no other."""

from __future__ import annotations

from typing import cast

from balancer.http2.engine import SERVER
from balancer.http2.engines import make_engine
from balancer.http2.events import EngineLimits
from balancer.http2.windows import Windows
from balancer.runtime.tcp import TcpTransport
from tests.fakes.sockets import until
from tests.features.http2 import frames
from tests.unit.balancer.http2.sharing import Bed, Taker, bed
from tests.unit.balancer.http2.talking import get


class Filled:
    """A stream, and whether whoever fills it waits."""

    def __init__(self, number: int) -> None:
        self.number, self.writing_paused = number, False

    def pause(self) -> None:
        self.writing_paused = True

    def unpause(self) -> None:
        self.writing_paused = False


def test_a_stream_waits_until_its_window_has_room_and_the_peer_reads() -> None:
    engine = make_engine(SERVER, EngineLimits(), "ngh2")
    engine.receive(frames.PREFACE + frames.settings([[4, 1]]) + get(1) + get(3), 0.0)
    windows, stalled, free = Windows(engine), Filled(1), Filled(3)
    for stream, body in ((stalled, b"more than a byte"), (free, b"x")):
        engine.respond(stream.number, ((b":status", b"200"),), False)
        engine.data(stream.number, body, False)
        windows.wrote(stream)
        stream.pause()
    engine.take_bytes()
    assert windows.sort(False) == ([stalled], [free])
    engine.receive(frames.frame(frames.WINDOW_UPDATE, 0, 1, (100).to_bytes(4, "big")), 0.0)
    engine.take_bytes()
    assert windows.sort(False) == ([], [])  # nobody has said that there is room
    windows.has_room = True
    assert windows.sort(True) == ([], [])
    assert windows.is_watching()
    assert windows.sort(False) == ([], [stalled])
    assert not windows.is_watching()


async def begun(made: Bed) -> Taker:
    """A request whose body is to come; the endpoint knows of it."""
    count = len(made.endpoint.calls)
    taker = await made.begin(None)
    await until(lambda: len(made.endpoint.calls) > count)
    return taker


async def test_a_client_whose_bytes_are_many_is_held_up_amid_the_turn() -> None:
    async with bed() as made:
        taker = await begun(made)
        taker.stream.send(bytes(65_536))
        assert taker.pauses == 1
        taker.stream.send(bytes(65_536))
        assert taker.pauses == 1
        await until(lambda: taker.pauses == 0)
        taker.stream.send(bytes(100))
        assert taker.pauses == 0


async def test_an_endpoint_that_reads_nothing_holds_up_every_client_until_it_reads_again() -> None:
    async with bed() as made:
        idle = await begun(made)
        (connection,) = made.connections
        takers = [idle, *await made.fill(connection)]
        assert {taker.pauses for taker in takers} == {1}
        late = await made.begin(None)
        assert late.stream.writing_paused
        made.endpoint.connections[0].transport.resume_reading()
        await until(lambda: not any(taker.stream.writing_paused for taker in (*takers, late)))
        assert {taker.pauses for taker in takers} == {0}


async def test_bodies_wait_with_their_streams_while_their_endpoint_reads_nothing() -> None:
    """There they are dropped with their streams, and are not copied."""
    async with bed() as made:
        await begun(made)
        (connection,) = made.connections
        takers = await made.fill(connection)
        transport = cast("TcpTransport", connection._transport)
        connection.flush()
        before = transport._size
        takers.append(await made.begin(None))
        takers[-1].stream.send(bytes(65_535))
        connection.flush()
        assert transport._size < before + 1000
        made.endpoint.connections[0].transport.resume_reading()
        await until(lambda: not any(taker.stream.writing_paused for taker in takers))
        assert not connection._engine.queued_in_all()


async def test_a_stream_that_ended_holds_nothing_back() -> None:
    async with bed(takes_bodies=False) as made:
        ended, other = await begun(made), await begun(made)
        ended.stream.send(bytes(100_000))
        await until(lambda: ended.pauses == 1)
        ended.take_back()
        other.stream.send(b"hello")
        other.stream.finish(())
        await until(lambda: made.endpoint.calls[1].is_whole)
        made.endpoint.calls[1].answer(b"x")
        await other.end()
        assert (other.failure, other.pauses) == (None, 0)
