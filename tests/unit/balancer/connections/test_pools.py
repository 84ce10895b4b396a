"""Each way to speak to a member has a pool of its own, which ends with the member."""

from __future__ import annotations

from balancer.model.handshakes import Handshake
from tests.fakes.sockets import until
from tests.unit.balancer.connections.pooling import bench


async def test_a_member_keeps_its_pool_and_shares_it_with_nobody() -> None:
    async with bench() as bed:
        one, other = bed.member(), bed.member()
        assert bed.pools.single(one) is bed.pools.single(one)
        assert bed.pools.single(one) is not bed.pools.single(other)
        (await bed.used(bed.pools.single(one))).release()
        assert bed.pools.single(other).lease(False) is None


async def test_each_way_to_speak_tls_has_connections_of_its_own() -> None:
    async with bench() as bed:
        member = bed.member()
        plain, careless, named = (bed.pools.single(member, tls) for tls in (None, Handshake(), Handshake(True, "a.b")))
        assert len({plain, careless, named}) == 3
        assert bed.pools.single(member, Handshake(True, "a.b")) is named
        (await bed.used(plain)).release()
        assert careless.lease(False) is None
        bed.pools.close([member])
        assert plain.lease(False) is None
        late = bed.pools.single(member, Handshake(server_name="late.test"))
        assert late is not careless


async def test_a_closed_pool_keeps_nothing() -> None:
    async with bench() as bed:
        member = bed.member()
        pool = bed.pools.single(member)
        idle, busy = await bed.used(pool), await bed.used(pool)
        idle.release()
        bed.pools.close([member, bed.member()])
        await until(lambda: idle.closed)
        assert not busy.closed
        busy.release()
        await until(lambda: busy.closed)
        assert (bed.pools.idle_count, len(bed.pools.open)) == (0, 0)
