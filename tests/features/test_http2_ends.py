"""The ends of HTTP/2 that the matrix plays with: nobody waits for what cannot come, and no stream is open in vain."""

from __future__ import annotations

import asyncio

import pytest

from tests.fakes.clients import RawClient
from tests.fakes.endpoints import ScriptedEndpoint, Visit
from tests.fakes.sockets import until
from tests.features.faults.http2_clients import Http2Client
from tests.features.faults.http2_scripts import Http2ScriptedEndpoint
from tests.features.http2 import frames
from tests.unit.balancer.http2.talking import get

_GET = b"GET / HTTP/1.1\r\nHost: app.test\r\n\r\n"
_POST = b"POST / HTTP/1.1\r\nHost: app.test\r\nContent-Length: 100000\r\n\r\n"
_BREACH = frames.frame(frames.DATA, 0, 0, b"of no stream")  # RFC 9113 6.1


class Stubborn:
    """A script that reads and never answers. `heard` are the requests that came to their ends."""

    def __init__(self) -> None:
        self.heard: list[bytes] = []

    async def __call__(self, visit: Visit) -> None:
        self.heard.append(await visit.rest())


async def _break(visit: Visit) -> None:
    """Breaks the protocol at once, and stays to the end."""
    await visit.send(frames.frame(frames.SETTINGS, 0, 0) + _BREACH)
    await visit.rest()


async def test_who_waits_for_a_server_that_breaks_the_protocol_hears_so() -> None:
    async with ScriptedEndpoint(_break) as server, Http2Client.to(server.port) as client:
        with pytest.raises(ConnectionResetError, match="broken the protocol"):
            await client.ask(_GET)
        assert not client.has_room


async def test_a_script_hears_the_end_of_a_client_that_breaks_the_protocol() -> None:
    stubborn = Stubborn()
    async with Http2ScriptedEndpoint(stubborn) as endpoint, RawClient(endpoint.port) as client:
        client.send(frames.PREFACE + frames.frame(frames.SETTINGS, 0, 0))
        client.send(get(1))
        await until(lambda: len(endpoint.visits) == 1)
        client.send(_BREACH)
        await until(lambda: len(stubborn.heard) == 1)
        said = bytearray(await client.reader.read())
    assert [each.kind for each in frames.taken_apart(said)][-1] == frames.GOAWAY


async def test_a_request_that_nobody_waits_for_is_reset() -> None:
    stubborn = Stubborn()
    async with Http2ScriptedEndpoint(stubborn) as endpoint, Http2Client.to(endpoint.port) as client:
        asked = asyncio.create_task(client.ask(_POST + bytes(100_000)))
        await until(lambda: [len(each.received) >= 65_535 for each in endpoint.visits] == [True])
        asked.cancel()
        await until(lambda: len(stubborn.heard) == 1)
        assert client.h2.open_outbound_streams == 0
        assert not client.is_over


async def test_nobody_asks_on_a_connection_that_is_over() -> None:
    async with Http2ScriptedEndpoint(Stubborn()) as endpoint, Http2Client.to(endpoint.port) as client:
        await until(lambda: len(endpoint.ends) == 1)
        for end in tuple(endpoint.ends):
            end.abort()
        await until(lambda: client.is_over)
        with pytest.raises(ConnectionResetError, match="before the request"):
            await client.ask(_GET)
