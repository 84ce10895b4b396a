"""One HTTP/2 connection of the demo, both ends of it: events arrive, and windows are given back."""

from __future__ import annotations

import asyncio

from balancer.http2.engine import CLIENT, SERVER
from balancer.http2.events import DATA, HEAD, SETTINGS, Event
from ingress.demo.speaking import DemoConnection
from tests.fakes.sockets import until

# More than the window of a stream, so that it arrives only if windows are given back.
BODY = bytes(300_000)
HEAD_FIELDS = ((b":method", b"POST"), (b":scheme", b"http"), (b":authority", b"any.example"), (b":path", b"/"))


class Noting:
    """A connection, and what it told."""

    def __init__(self, role: bool) -> None:
        self.connection = DemoConnection(role, take=self.take, lost=self.lost)
        self.events: list[Event] = []
        self.is_lost = False

    def take(self, connection: DemoConnection, event: Event) -> None:
        assert connection is self.connection
        self.events.append(event)

    def lost(self, connection: DemoConnection) -> None:
        assert connection is self.connection
        self.is_lost = True

    def body(self) -> bytes:
        return b"".join(event[2] for event in self.events if event[0] == DATA)


async def test_a_long_body_arrives_and_a_closed_connection_ends_at_both_ends() -> None:
    taken, asking = Noting(SERVER), Noting(CLIENT)
    client = asking.connection
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: taken.connection, "127.0.0.1", 0)
    await loop.create_connection(lambda: client, *server.sockets[0].getsockname())
    await until(lambda: any(event[0] == SETTINGS for event in asking.events))

    stream = client.engine.request(HEAD_FIELDS, False)
    client.engine.data(stream, BODY, True)
    client.flush()

    await until(lambda: taken.body() == BODY)
    assert [event[1] for event in taken.events if event[0] == HEAD] == [stream]
    client.close()
    await until(lambda: asking.is_lost and taken.is_lost)
    server.close()
    await server.wait_closed()
