"""Hostile clients that speak HTTP/1: the hostile cases, garbage, slow and rude ones, tricks with paths and names.

Responsible for what they send. Nothing is expected of the answers.
"""

from __future__ import annotations

import asyncio
import random
import socket
from collections.abc import Iterator

from tests.bench.chaos.actors import Actor, Turn
from tests.bench.chaos.ground import APP, VICTIM, Ground, heard
from tests.fakes.clients import RawClient
from tests.features.faults.crowds import closing, connected, crowd, dripping, reset
from tests.features.fuzz.mutating import Mutator
from tests.features.http_cases.cases import Act, Case, Pause, Send, all_cases

_CASE_BYTES = 1024 * 1024
_CUTS = 16
_HEARD_SECONDS = 0.5
_HOLD_SECONDS = 8.0
_CROWD = 60
_UNREAD = 30
_PIPELINED = 100
_GARBAGE = 6

_TARGETS = (
    *("/public/..\\secret", "/public\\..\\secret", "/a;/../b", "/a/..;/b", "/%2e%2e/x", "/a/%2e%2e%2fb", "/.%2e/x"),
    *("/a%5c..%5cb", "//x//../y", "/a/./b/../..", "/%252e%252e/x", "/%c0%ae%c0%ae/x", "/a%00b", "/a%0d%0ab", "/%"),
    *("http://victim.test/x", "http://app.test@victim.test/", "*", "/?a=../..", "/#x", "/a?b#c", "/..", "x"),
    "/" + "a/../" * 400,
    "/" + "%2e%2e/" * 400,
    "/" + "x" * 7000,
)
_IDENTITY = (
    *("X-User: root", "X-Forwarded-User: root", "X-Forwarded-For: 10.0.0.1, 127.0.0.1", "X-Real-IP: 127.0.0.1"),
    *("X-Forwarded-Host: victim.test", "X-Forwarded-Proto: https", "X-Forwarded-Prefix: /admin", "Forwarded: for=x"),
    *(
        "X-Original-URL: /admin",
        "True-Client-IP: 127.0.0.1",
        "Front-End-Https: on",
        "X_User: root",
        "ssl-client-verify: SUCCESS",
    ),
    *("Authorization: Basic cm9vdDpyb290", "Connection: x-user, host, content-length", "TE: trailers", "Via: 1.1 x"),
)
_UPGRADES = ("websocket", "h2c", "websocket, h2c", "TLS/1.0", "x" * 500)


def actors(ground: Ground) -> tuple[Actor, ...]:
    """All of them, on the plain port."""
    clients = Http1Clients(ground)
    return (
        Actor("http1 cases", "client", clients.case, pause_seconds=0.1, at_once=6),
        Actor("http1 garbage", "client", clients.garbage, pause_seconds=0.1, at_once=4),
        Actor("slow heads", "client", clients.slow_heads, pause_seconds=4.0),
        Actor("slow bodies", "client", clients.slow_bodies, pause_seconds=4.0),
        Actor("unread answers", "client", clients.unread, pause_seconds=4.0),
        Actor("aborted bodies", "client", clients.aborted_body, pause_seconds=0.1),
        Actor("resets amid all", "client", clients.amid, pause_seconds=0.05),
        Actor("upgrades", "client", clients.upgrade, pause_seconds=0.2, at_once=2),
        Actor("path tricks", "client", clients.paths, pause_seconds=0.2),
        Actor("spoofed identities", "client", clients.identity, pause_seconds=0.1),
        Actor("pipelines", "client", clients.pipeline, pause_seconds=0.5),
    )


class Http1Clients:
    """One connection a turn, or one crowd."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._cases = [
            case for case in all_cases() if case.side == "request" and case.steps and _size(case) < _CASE_BYTES
        ]

    async def case(self, turn: Turn) -> None:
        """One of the hostile cases, cut anywhere."""
        case = turn.dice.choice(self._cases)
        turn.count("cases")
        async with RawClient(self._ground.http_port) as client:
            for step in case.steps:
                if isinstance(step, Send):
                    for piece in step.pieces:
                        await _send_cut(client, piece, turn.dice)
                elif isinstance(step, Pause):
                    await asyncio.sleep(min(step.seconds, _HEARD_SECONDS))
                else:
                    _act(client, step)
            await heard(client, seconds=_HEARD_SECONDS)
            _leave(client, turn.dice)

    async def garbage(self, turn: Turn) -> None:
        """Messages with mutations, one behind the other."""
        mutator = Mutator(turn.dice, "request")
        async with RawClient(self._ground.http_port) as client:
            await _send_cut(client, b"".join(mutator.next() for _ in range(_GARBAGE)), turn.dice)
            turn.count("messages", _GARBAGE)
            await heard(client, seconds=_HEARD_SECONDS)
            _leave(client, turn.dice)

    async def slow_heads(self, turn: Turn) -> None:
        head = f"GET / HTTP/1.1\r\nHost: {APP}\r\nX-Slow: ".encode()
        await self._drip(turn, head[: turn.dice.randint(1, len(head))])

    async def slow_bodies(self, turn: Turn) -> None:
        await self._drip(turn, f"POST / HTTP/1.1\r\nHost: {APP}\r\nContent-Length: 1000000\r\n\r\n".encode())

    async def unread(self, turn: Turn) -> None:
        """Answers of 1 MiB that nobody takes, then resets or closes."""
        port, sockets = self._ground.http_port, list[socket.socket]()
        with closing(sockets):
            for _ in range(_UNREAD):
                sockets.append(await connected(port, buffer_bytes=4096))
                sockets[-1].send(f"GET /1m HTTP/1.1\r\nHost: {APP}\r\n\r\n".encode() * 3)
            turn.count("connections", _UNREAD)
            await asyncio.sleep(turn.dice.uniform(1.0, _HOLD_SECONDS))
            for each in sockets[::2]:
                reset(each)

    async def aborted_body(self, turn: Turn) -> None:
        dice = turn.dice
        framing = dice.choice(("Content-Length: 900000", "Transfer-Encoding: chunked"))
        async with RawClient(self._ground.http_port) as client:
            client.send(f"POST /x HTTP/1.1\r\nHost: {APP}\r\n{framing}\r\n\r\n".encode())
            client.send(b"%x\r\n" % 100_000 + bytes(dice.randint(0, 100_000)))
            await asyncio.sleep(dice.uniform(0.0, 0.1))
            turn.count("bodies")
            _leave(client, dice)

    async def amid(self, turn: Turn) -> None:
        """A reset behind any byte of a request, or amid its answer."""
        dice = turn.dice
        request = (
            f"GET {dice.choice(('/', '/64k', '/1m'))} HTTP/1.1\r\nHost: {dice.choice((APP, VICTIM))}\r\n\r\n".encode()
        )
        async with RawClient(self._ground.http_port) as client:
            client.send(request[: dice.randint(0, len(request) * 2)])
            await asyncio.sleep(dice.choice((0.0, 0.001, 0.02)))
            turn.count("resets")
            client.reset()

    async def upgrade(self, turn: Turn) -> None:
        """To an endpoint that says 101 and to one that does not, and garbage behind it."""
        dice = turn.dice
        host, protocol = dice.choice((APP, "tunnel.test")), dice.choice(_UPGRADES)
        said = f"Connection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\nUpgrade: {protocol}\r\n"
        async with RawClient(self._ground.http_port) as client:
            client.send(f"GET /tunnel HTTP/1.1\r\nHost: {host}\r\n{said}\r\n".encode())
            client.send(dice.randbytes(dice.randint(0, 20_000)))
            turn.count("upgrades")
            await heard(client, seconds=_HEARD_SECONDS)
            client.send(dice.randbytes(100))
            _leave(client, dice)

    async def paths(self, turn: Turn) -> None:
        for target in turn.dice.sample(_TARGETS, 4):
            async with RawClient(self._ground.http_port) as client:
                client.send(f"GET {target} HTTP/1.1\r\nHost: {APP}\r\nConnection: close\r\n\r\n".encode("latin-1"))
                turn.count("targets")
                await heard(client, seconds=_HEARD_SECONDS)

    async def identity(self, turn: Turn) -> None:
        """Who one is, as fields and as trailers."""
        chosen = turn.dice.sample(_IDENTITY, 5)
        lines = "".join(f"{each}\r\n" for each in chosen)
        head = f"POST /who HTTP/1.1\r\nHost: {APP}\r\nTransfer-Encoding: chunked\r\n{lines}\r\n"
        async with RawClient(self._ground.http_port) as client:
            client.send(f"{head}5\r\nhello\r\n0\r\n{lines}\r\n".encode())
            turn.count("requests")
            await heard(client, seconds=_HEARD_SECONDS)

    async def pipeline(self, turn: Turn) -> None:
        """Many requests in one write, with garbage behind them; half of the answers are never read."""
        requests = f"GET / HTTP/1.1\r\nHost: {APP}\r\n\r\n".encode() * _PIPELINED
        async with RawClient(self._ground.http_port) as client:
            client.send(requests + turn.dice.randbytes(200))
            turn.count("requests", _PIPELINED)
            await heard(client, seconds=turn.dice.uniform(0.0, _HEARD_SECONDS))
            _leave(client, turn.dice)

    async def _drip(self, turn: Turn, first_bytes: bytes) -> None:
        """A crowd that sends a byte every tenth of a second, until the process has ended each of them."""
        sockets = await crowd(self._ground.http_port, _CROWD, first_bytes=first_bytes)
        with closing(sockets):
            turn.count("connections", _CROWD)
            turn.count("closed by zonal", len(await dripping(sockets, drop=b"a", seconds=_HOLD_SECONDS)))


def _size(case: Case) -> int:
    return sum(len(piece) for step in case.steps if isinstance(step, Send) for piece in step.pieces)


def _cuts(data: bytes, dice: random.Random) -> Iterator[bytes]:
    places = sorted(dice.randrange(len(data) + 1) for _ in range(dice.randint(0, _CUTS)))
    for start, end in zip([0, *places], [*places, len(data)], strict=True):
        yield data[start:end]


async def _send_cut(client: RawClient, data: bytes, dice: random.Random) -> None:
    for piece in _cuts(data, dice):
        client.send(piece)
        await asyncio.sleep(0)
    await client.writer.drain()


def _act(client: RawClient, act: Act) -> None:
    if act.name == "FIN":
        client.finish_sending()
    elif act.name == "RST":
        client.reset()


def _leave(client: RawClient, dice: random.Random) -> None:
    """With a reset, a half-close or nothing, and then the connection is cut in any case."""
    match dice.randrange(3):
        case 0:
            client.reset()
        case 1 if not client.writer.is_closing():
            client.finish_sending()
