"""Shared pools on real sockets: which connection a request gets, when another is made, and when one ends."""

from __future__ import annotations

import asyncio

import pytest

from balancer.errors import ErrorKind
from balancer.http2.endpoint import STREAMS_MOST
from balancer.http2.events import NO_ERROR, REFUSED_STREAM
from balancer.http2.frames import goaway_frame
from balancer.model.endpoints import Endpoint
from balancer.picking.members import Member
from tests.fakes.http2_endpoints import Call, Http2Endpoint
from tests.fakes.sockets import PATIENCE_SECONDS, until
from tests.features.http2 import frames
from tests.unit.balancer.http2.sharing import Bed, Taker, bed

pytestmark = pytest.mark.large


def ok(call: Call) -> None:
    call.answer(b"ok")


async def ended(takers: list[Taker]) -> None:
    for taker in takers:
        await taker.end()


async def test_requests_share_a_connection() -> None:
    async with bed(ok) as made:
        takers, reused = list[Taker](), list[bool]()
        for _ in range(20):
            takers.append(await made.begin(b"x"))
            reused.append(takers[-1].stream.reused)  # before its end, at which it is not asked any more
        await ended(takers)
        assert len(made.endpoint.connections) == 1
        assert reused == [False] + [True] * 19


async def test_requests_that_find_no_connection_wait_for_one_together() -> None:
    async with bed(ok) as made:
        takers = await asyncio.gather(*(made.begin(b"x") for _ in range(50)))
        await ended(takers)
        assert len(made.endpoint.connections) == 1


async def test_no_connection_carries_more_than_its_endpoint_takes() -> None:
    async with bed(streams_max=3) as made:
        await asyncio.gather(*(made.begin(b"x") for _ in range(10)))
        await until(lambda: len(made.endpoint.calls) == 10)
        assert max(connection.at_once for connection in made.endpoint.connections) == 3
        assert len(made.endpoint.connections) >= 4


async def test_one_stream_at_a_time_is_enough() -> None:
    async with bed(ok, streams_max=1) as made:
        takers = await asyncio.gather(*(made.begin(b"x") for _ in range(8)))
        await ended(takers)
        assert max(connection.at_once for connection in made.endpoint.connections) == 1


async def test_the_room_of_a_new_connection_may_be_gone_before_its_waiters_hear_of_it() -> None:
    async with bed(streams_max=1) as made:
        waiting = asyncio.ensure_future(made.pool.connect(5))
        await asyncio.sleep(0)  # it has begun
        (coming,) = made.pools.coming
        while not coming.done():  # noqa: ASYNC110 - in the very turn in which it is done
            await asyncio.sleep(0)
        first = made.pool.lease(False)
        streams = (first, await made.pool.connect(5), await waiting)  # was a loop that nothing interrupted
        assert None not in streams
        assert len(made.endpoint.connections) == len(set(streams)) == 3


async def test_an_endpoint_that_leaves_at_once_is_asked_once() -> None:
    """Its connection is neither kept nor made again and again until the time is over."""
    came = 0

    async def leave(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal came
        came += 1
        writer.write(frames.settings([]) + goaway_frame(0, NO_ERROR))
        writer.close()

    accepting = await asyncio.start_server(leave, "127.0.0.1", 0)
    async with bed(ok) as made:
        made.member = Member(Endpoint(address="127.0.0.1", port=accepting.sockets[0].getsockname()[1]))
        with pytest.raises(ConnectionRefusedError):
            await made.pool.connect(PATIENCE_SECONDS)
        assert came == 1
        assert made.pools.idle_count == 0
    accepting.close()


async def test_no_connection_carries_more_than_a_hundred() -> None:
    async with bed(streams_max=1000) as made:
        await asyncio.gather(*(made.begin(b"x") for _ in range(STREAMS_MOST + 1)))
        await until(lambda: len(made.endpoint.calls) == STREAMS_MOST + 1)
        assert max(connection.at_once for connection in made.endpoint.connections) <= STREAMS_MOST


async def test_the_next_connection_is_made_before_the_last_room_is_taken() -> None:
    async with bed(streams_max=8) as made:
        for _ in range(6):
            await made.begin(b"x")
        await until(lambda: made.endpoint.open_connections == 2)
        assert len(made.endpoint.calls) <= 6


async def test_the_connection_with_the_fewest_streams_is_taken() -> None:
    async with bed(streams_max=8) as made:
        for _ in range(6):
            await made.begin(b"x")
        await until(lambda: len(made.connections) == 2 and all(each.room for each in made.connections))
        await until(lambda: not made.pools.coming)
        for _ in range(4):
            await made.begin(b"x")
        assert sorted(connection.streams for connection in made.connections) == [4, 6]


async def test_an_endpoint_that_takes_no_streams_is_refused() -> None:
    async with bed(streams_max=0) as made:
        with pytest.raises(ConnectionRefusedError):
            await made.stream()


async def test_an_endpoint_that_is_silent_is_not_waited_for_longer_than_was_said() -> None:
    async with bed() as made:
        made.endpoint.is_mute = True
        with pytest.raises(TimeoutError):
            await made.pool.connect(0.1)
        await until(lambda: made.endpoint.open_connections == 0)


async def test_an_endpoint_that_closes_at_once_is_an_error() -> None:
    async with bed() as made:
        made.endpoint.is_mute = True
        waiting = asyncio.ensure_future(made.pool.connect(5))
        await until(lambda: len(made.endpoint.connections) == 1)
        made.endpoint.connections[0].transport.abort()
        with pytest.raises(ConnectionResetError):
            await waiting


async def test_an_idle_connection_is_counted_and_closed_in_time() -> None:
    async with bed(ok, endpoint_idle_seconds=0.2) as made:
        await ended([await made.begin(b"x") for _ in range(3)])
        await until(lambda: made.pools.idle_count == 1)
        await until(lambda: made.endpoint.open_connections == 0)
        assert made.pools.idle_count == 0


async def test_a_new_connection_is_not_idle_before_its_request_takes_it() -> None:
    async with bed(streams_max=1) as made:
        waiting = asyncio.ensure_future(made.pool.connect(PATIENCE_SECONDS))
        await asyncio.sleep(0)  # it has begun
        (coming,) = made.pools.coming
        while not coming.done():  # noqa: ASYNC110 - in the very turn in which it is done
            await asyncio.sleep(0)
        assert made.pools.idle_count == 0
        stream = await waiting
        assert made.pools.idle_count == 0
        stream.release()
        await until(lambda: made.pools.idle_count == 1)


@pytest.mark.parametrize("places", [1, 0])
async def test_a_new_connection_that_nobody_takes_is_kept_if_there_is_room(places: int) -> None:
    async with bed(endpoint_idle_connections=places) as made:
        waiting = asyncio.ensure_future(made.pool.connect(PATIENCE_SECONDS))
        await asyncio.sleep(0)  # it has begun
        waiting.cancel()
        await until(lambda: not made.pools.coming)
        assert made.pools.idle_count == places
        await until(lambda: made.endpoint.open_connections == places)


async def test_a_connection_that_is_made_while_its_endpoint_leaves_ends_if_nobody_takes_it() -> None:
    async with bed() as made:
        waiting = asyncio.ensure_future(made.pool.connect(PATIENCE_SECONDS))
        await asyncio.sleep(0)  # it has begun
        waiting.cancel()
        made.pools.close([made.member])
        await until(lambda: not made.pools.coming)
        await until(lambda: not made.pools.open)
        assert made.pools.idle_count == 0


async def test_what_one_of_two_new_connections_leaves_to_the_other_is_idle() -> None:
    """The second request comes while the connection is made that the first one waits for, and gets what that frees."""
    async with bed(streams_max=1) as made:
        waiting = [asyncio.ensure_future(made.pool.connect(PATIENCE_SECONDS)) for _ in range(2)]
        done, (other,) = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        done.pop().result().release()
        (await other).release()
        await until(lambda: not made.pools.coming)
        assert made.pools.idle_count == len(made.connections)


async def test_no_connection_is_made_ahead_again_and_again_if_there_is_no_room_to_keep_it() -> None:
    async with bed(streams_max=8, endpoint_idle_connections=0) as made:
        for _ in range(6):
            await made.begin(b"x")
        await until(lambda: len(made.endpoint.connections) == 2 and made.endpoint.open_connections == 1)
        for _ in range(2):
            await made.begin(b"x")
        assert not made.pools.coming
        await made.begin(b"x")  # needs one
        assert len(made.endpoint.connections) == 3


async def test_a_connection_in_use_is_not_idle() -> None:
    async with bed(endpoint_idle_seconds=0.1) as made:
        taker = await made.begin(b"x")
        await until(lambda: len(made.endpoint.calls) == 1)
        assert made.pools.idle_count == 0
        assert made.connections[0].deadline > made.connections[0].now() + 100.0
        made.endpoint.calls[0].answer(b"late")
        await taker.end()
        assert taker.body == b"late"


async def test_too_many_idle_connections_are_closed() -> None:
    async with bed(ok, endpoint_idle_connections=0) as made:
        await ended([await made.begin(b"x")])
        await until(lambda: made.endpoint.open_connections == 0)


async def test_beyond_the_limit_the_idle_connection_of_who_keeps_most_is_closed() -> None:
    async with bed(ok, endpoint_idle_connections=2, streams_max=1) as made:
        kept = await asyncio.gather(*(made.begin(b"x") for _ in range(2)))
        await ended(kept)
        await until(lambda: made.pools.idle_count == 2)
        greedy = list(made.connections)
        made.member = Member(made.member.endpoint, "modest")
        await ended([await made.begin(b"x")])
        await until(lambda: made.endpoint.open_connections == 2 and sum(each.closed for each in greedy) == 1)
        assert made.pools.idle_count == 2


async def test_a_connection_ends_after_so_many_requests() -> None:
    async with bed(ok, endpoint_requests=3) as made:
        for _ in range(7):
            await (await made.begin(b"x")).end()
        assert [len(connection.calls) for connection in made.endpoint.connections] == [3, 3, 1]
        await until(lambda: made.endpoint.open_connections == 1)


async def test_a_member_that_left_keeps_its_streams_and_no_connection() -> None:
    async with bed() as made:
        taker = await made.begin(b"x")
        await until(lambda: len(made.endpoint.calls) == 1)
        made.pools.close([made.member])
        late = await made.begin(b"x")  # a request on an older view may still pick the member
        await until(lambda: len(made.endpoint.calls) == 2)
        for call in made.endpoint.calls:
            call.answer(b"ok")
        await ended([taker, late])
        assert {taker.failure, late.failure} == {None}
        await until(lambda: made.endpoint.open_connections == 0)


async def test_a_goaway_moves_new_requests_to_another_connection() -> None:
    async with bed() as made:
        taker = await made.begin(b"x")
        await until(lambda: len(made.endpoint.calls) == 1)
        made.endpoint.connections[0].goaway()
        await until(lambda: made.connections[0].room == 0)
        other = await made.begin(b"x")
        await until(lambda: len(made.endpoint.connections) == 2 and len(made.endpoint.calls) == 2)
        for call in made.endpoint.calls:
            call.answer(b"ok")
        await ended([taker, other])
        await until(lambda: made.endpoint.open_connections == 1)


async def test_after_a_refusal_a_connection_gets_no_more_at_once_for_a_while() -> None:
    async with bed() as made:
        takers = [await made.begin(b"x") for _ in range(5)]
        await until(lambda: len(made.endpoint.calls) == 5)
        made.endpoint.calls[4].reset(REFUSED_STREAM)
        await takers[4].end()
        assert takers[4].failure is ErrorKind.ENDPOINT_REFUSED
        assert made.connections[0].room == 0
        again = await made.begin(b"x")
        await until(lambda: len(made.endpoint.calls) == 6)
        assert made.endpoint.calls[5].connection is not made.endpoint.calls[0].connection
        made.endpoint.calls[0].answer()
        await takers[0].end()
        await until(lambda: min(connection.room for connection in made.connections) > 0)
        assert again.failure is None


async def test_a_stream_that_never_began_leaves_its_place() -> None:
    async with bed(streams_max=1) as made:
        for _ in range(3):
            (await made.stream()).release()
        await until(lambda: made.pools.idle_count == 1)
        assert len(made.endpoint.connections) == 1


async def test_each_endpoint_has_connections_of_its_own() -> None:
    async with bed(ok) as made, Http2Endpoint(ok) as other:
        elsewhere = Bed(other, made.pools.settings.proxy)
        await ended([await made.begin(b"x"), await elsewhere.begin(b"x")])
        assert (len(made.endpoint.connections), len(other.connections)) == (1, 1)
        elsewhere.pools.close_all()
        await until(lambda: not elsewhere.pools.open)
        elsewhere.deadlines.stop()
