"""What pools of a worker share: the number of idle connections, and how long they stay."""

from __future__ import annotations

import pytest

from balancer.errors import NoPlaceError
from balancer.model.settings import ProxySettings
from balancer.runtime.shares import FairShares
from tests.fakes.endpoints import Visit
from tests.fakes.sockets import until
from tests.messages import outgoing
from tests.unit.balancer.connections.pooling import OK, Taker, bench


async def test_no_more_connections_are_kept_than_the_limit_of_all_pools() -> None:
    async with bench(endpoint_idle_connections=2) as bed:
        pools = [bed.pools.single(bed.member()) for _ in range(3)]
        connections = [await bed.used(pool) for pool in pools]
        for connection in connections:
            connection.release()
        assert bed.pools.idle_count == 2
        await until(lambda: connections[2].closed)


async def test_beyond_that_limit_a_connection_of_the_namespace_that_keeps_most_is_closed() -> None:
    async with bench(endpoint_idle_connections=4) as bed:
        greedy, modest = (bed.pools.single(bed.member(name)) for name in ("greedy", "modest"))
        first, *others = [await bed.used(greedy) for _ in range(4)]
        own = [await bed.used(modest) for _ in range(3)]
        for connection in (first, *others, *own):
            connection.release()
        assert bed.pools.idle_count == 4
        await until(lambda: first.closed and others[0].closed and own[2].closed)
        assert [modest.lease(False), modest.lease(False), modest.lease(False)] == [own[1], own[0], None]
        assert bed.pools.idle_count == 2
        bed.pools.close([modest._member])
        assert bed.pools.idle_count == 2


async def test_settings_are_asked_anew_each_time() -> None:
    async with bench(endpoint_requests=1) as bed:
        bed.settings.proxy = ProxySettings()
        pool = bed.pools.single(bed.member())
        connection = await bed.used(pool)
        connection.release()
        assert pool.lease(False) is connection


async def test_an_idle_connection_is_closed_after_its_time_and_one_in_use_is_not() -> None:
    async with bench(endpoint_idle_seconds=0.05) as bed:
        pool = bed.pools.single(bed.member())
        idle, reused = await bed.used(pool), await bed.used(pool)
        idle.release()
        reused.release()
        assert pool.lease(False) is reused
        reused.begin(Taker(), outgoing())
        await until(lambda: idle.closed)
        assert not reused.closed
        assert bed.pools.idle_count == 0


async def test_an_idle_connection_that_the_endpoint_closes_is_forgotten() -> None:
    async def script(visit: Visit) -> None:
        await visit.head()
        await visit.send(OK)

    async with bench(script) as bed:
        pool = bed.pools.single(bed.member())
        (await bed.used(pool)).release()
        await until(lambda: bed.pools.idle_count == 0)
        assert pool.lease(False) is None
        assert not bed.pools.open


async def test_a_namespace_makes_no_more_connections_than_its_share_and_others_make_theirs() -> None:
    async with bench() as bed:
        bed.pools.places = FairShares(8)
        greedy, modest = bed.pools.single(bed.member("greedy")), bed.pools.single(bed.member("modest"))
        held = [await bed.used(greedy) for _ in range(4)]
        with pytest.raises(NoPlaceError):
            await bed.fresh(greedy)
        (await bed.used(modest)).release()
        for each in held:
            each.release()


async def test_a_namespace_at_its_share_gives_up_an_idle_connection_for_a_new_one() -> None:
    async with bench() as bed:
        bed.pools.places = FairShares(4)
        busy, other = bed.pools.single(bed.member("shop")), bed.pools.single(bed.member("shop"))
        held = [await bed.used(busy), await bed.used(busy)]
        held[0].release()
        (await bed.used(other)).release()
        assert bed.pools.places.held("shop") == 2
        assert held[0].closed
        held[1].release()


async def test_places_are_back_however_a_connection_ends() -> None:
    async with bench() as bed:
        bed.pools.places = FairShares(4)
        pool = bed.pools.single(bed.member("shop"))
        (await bed.used(pool)).reset()
        await bed.endpoint.stop()
        with pytest.raises(ConnectionRefusedError):
            await bed.fresh(pool)
        await until(lambda: bed.pools.places.free == 4)
