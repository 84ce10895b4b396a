"""Hostile clients of the admin port: crowds of unfinished heads, garbage, and many large pages at once."""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress

from tests.bench.chaos.actors import Actor, Turn
from tests.bench.chaos.ground import Ground, heard
from tests.fakes.clients import RawClient
from tests.features.faults.crowds import closing, connected
from tests.features.fuzz.mutating import Mutator

_CROWD = 150
_HOLD_SECONDS = 10.0
_HEARD_SECONDS = 2.0
_PAGES = (
    *("/metrics", "/debug/model", "/debug/findings", "/livez", "/readyz", "/ui", "/", "/explain?url=http://app.test/"),
    *("/debug/model?x=" + "y" * 5000, "/../../etc/passwd", "/ui/%2e%2e/x", "/explain?url=%zz"),
)


def actors(ground: Ground) -> tuple[Actor, ...]:
    """All of them."""
    clients = AdminClients(ground)
    return (
        Actor("admin crowds", "client", clients.unfinished, pause_seconds=6.0),
        Actor("admin garbage", "client", clients.garbage, pause_seconds=1.0),
        Actor("admin pages", "client", clients.pages, pause_seconds=2.0),
    )


class AdminClients:
    """One connection a turn, or one crowd."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground

    async def unfinished(self, turn: Turn) -> None:
        """More connections than the door takes: those that it cuts are no reason for the others to leave."""
        port, sockets = self._ground.admin_port, list[socket.socket]()
        with closing(sockets):
            for _ in range(_CROWD):
                sockets.append(await connected(port))
                with suppress(ConnectionError):
                    sockets[-1].send(b"GET /metrics HTTP/1.1\r\nX: ")
            turn.count("connections", _CROWD)
            await asyncio.sleep(turn.dice.uniform(0.0, _HOLD_SECONDS))

    async def garbage(self, turn: Turn) -> None:
        async with RawClient(self._ground.admin_port) as client:
            client.send(Mutator(turn.dice, "request").next())
            turn.count("messages")
            await heard(client, seconds=_HEARD_SECONDS)

    async def pages(self, turn: Turn) -> None:
        async with RawClient(self._ground.admin_port) as client:
            page = turn.dice.choice(_PAGES)
            client.send(f"GET {page} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
            turn.count("pages")
            await heard(client, seconds=_HEARD_SECONDS)
