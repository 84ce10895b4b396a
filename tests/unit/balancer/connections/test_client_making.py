"""The protocol of a connection is that of the version that was chosen, and knows which name decided."""

from __future__ import annotations

import asyncio

import pytest

from balancer.connections.arrivals import Arrival
from balancer.connections.client_making import ClientMaker
from balancer.connections.unread import Unread
from balancer.http.current import CurrentSettings
from balancer.http1.connection import ClientConnection
from balancer.http2.client import Http2Connection
from balancer.http2.flushing import Flusher
from balancer.model.entry_points import HTTP, HTTPS, EntryPoint
from balancer.model.settings import ProxySettings
from balancer.runtime.deadlines import Deadlines
from tests.unit.balancer.http2.talking import Noted


class Names:
    """Knows whether names divide the listeners."""

    def __init__(self, is_divided: bool) -> None:
        self.is_divided = is_divided

    def share_certificate(self, server_name: str, host: str) -> bool:
        return server_name == host


def made(entry_point: EntryPoint, *, http2: bool, is_divided: bool) -> ClientConnection | Http2Connection:
    settings, loop = CurrentSettings(ProxySettings()), asyncio.get_running_loop()
    maker = ClientMaker(
        settings=settings,
        deadlines=Deadlines(loop),
        names=lambda _: Names(is_divided),
        flusher=Flusher(loop, Unread(settings)),
        tally=Noted(),
    )
    arrival = Arrival("192.0.2.1", 443, entry_point)
    arrival.server_name = "a.test"
    return maker.make(arrival, http2, lambda _: None)


@pytest.mark.parametrize("entry_point", [HTTP, HTTPS])
@pytest.mark.parametrize("is_divided", [True, False])
async def test_each_version_has_its_connection(entry_point: EntryPoint, is_divided: bool) -> None:
    one = made(entry_point, http2=False, is_divided=is_divided)
    two = made(entry_point, http2=True, is_divided=is_divided)
    assert (type(one), type(two)) == (ClientConnection, Http2Connection)
    assert one.entry_point is two.entry_point is entry_point
