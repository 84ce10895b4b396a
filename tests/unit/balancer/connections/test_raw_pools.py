"""Connections of relays are made anew each time, count among those of their namespace, and are checked as all are."""

from __future__ import annotations

import asyncio
import ssl

import pytest

from balancer.connections.pools import ConnectionPools
from balancer.connections.raw_pools import RawPool
from balancer.errors import NoPlaceError
from balancer.http.current import CurrentSettings
from balancer.model.endpoints import Endpoint
from balancer.model.handshakes import Handshake
from balancer.model.settings import ProxySettings
from balancer.picking.members import Member
from balancer.runtime.deadlines import Deadlines
from balancer.runtime.tcp import TcpTransports
from tests.fakes.endpoints import ScriptedEndpoint, Visit
from tests.fakes.sockets import until
from tests.unit.balancer.connections.test_raw import Noting

pytestmark = pytest.mark.large


async def wait(visit: Visit) -> None:
    await visit.rest()


def pools(places: int = 10) -> ConnectionPools:
    loop = asyncio.get_running_loop()
    return ConnectionPools(
        deadlines=Deadlines(loop),
        settings=CurrentSettings(ProxySettings()),
        transports=TcpTransports(loop),
        places=places,
    )


def pool(endpoint: ScriptedEndpoint, of: ConnectionPools, tls: Handshake | None = None) -> RawPool:
    return RawPool(Member(Endpoint(endpoint.address, endpoint.port), "shop"), tls, of, Noting())


async def test_a_connection_is_open_until_it_is_released() -> None:
    async with ScriptedEndpoint(wait) as endpoint:
        all_pools = pools()
        raw = pool(endpoint, all_pools)
        assert raw.lease(False) is None
        stream = await raw.connect(5.0)
        assert (stream.connection.namespace, stream.connection.is_client) == ("shop", False)
        assert len(all_pools.open) == 1
        stream.release()
        await until(lambda: stream.connection.closed)
        all_pools.lost(stream.connection, "shop")
        assert (len(all_pools.open), all_pools.places.held("shop")) == (0, 0)


async def test_a_namespace_has_its_share_of_connections() -> None:
    async with ScriptedEndpoint(wait) as endpoint:
        all_pools = pools(places=2)
        first = await pool(endpoint, all_pools).connect(5.0)
        with pytest.raises(NoPlaceError):
            await pool(endpoint, all_pools).connect(5.0)
        first.release()
        await until(lambda: first.connection.closed)


async def test_an_endpoint_without_tls_is_refused_where_tls_is_demanded() -> None:
    async def plain(visit: Visit) -> None:
        await visit.send(b"220 hello\r\n")
        await visit.rest()

    async with ScriptedEndpoint(plain) as endpoint:
        with pytest.raises(ssl.SSLError):
            await pool(endpoint, pools(), Handshake()).connect(5.0)
