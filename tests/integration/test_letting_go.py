"""What a connection held is let go of when it ends, whoever still knows of it: memory is that of open connections."""

from __future__ import annotations

import gc
import ssl

from balancer.http2.client import Http2Connection
from tests.fakes.sockets import until
from tests.features.http2.playing import ask
from tests.integration.in_process import data_plane
from tests.integration.wire import Connection, trusting

_CONNECTIONS = 20


def _tls_states() -> int:
    """How many connections of either side have buffers and keys of TLS, a quarter of a megabyte each."""
    gc.collect()
    return sum(isinstance(each, ssl.SSLObject) for each in gc.get_objects())


async def test_a_tls_connection_that_has_ended_keeps_no_buffers_until_its_deadline() -> None:
    before = _tls_states()
    async with data_plane() as plane:
        for _ in range(_CONNECTIONS):
            async with await Connection.open(plane.https_port, tls=trusting(), server_name="app.test") as connection:
                assert (await connection.get("app.test", "/", "Connection: close")).status == 404
        await until(lambda: _tls_states() == before)


async def test_an_http2_connection_that_has_ended_is_not_left_to_the_garbage_collector() -> None:
    """It may hold megabytes that its client has not read, of which the collector sees nothing."""
    tls = trusting()
    tls.set_alpn_protocols(["h2"])
    async with data_plane() as plane:
        gc.collect()
        gc.disable()
        try:
            for _ in range(3):
                assert (await ask(plane.https_port, tls)).status == 404
            await until(lambda: not any(isinstance(each, Http2Connection) for each in gc.get_objects()))
        finally:
            gc.enable()
