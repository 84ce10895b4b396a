"""Hostile endpoints that speak HTTP/2: those of the hostile cases, and one that answers with random frames.

Responsible for what they answer, and for the Services that they belong to.
"""

from __future__ import annotations

import asyncio
import random
from contextlib import AsyncExitStack

from tests.bench.chaos.actors import Actor, Turn
from tests.bench.chaos.ground import Ground, heard, site
from tests.fakes.clients import RawClient
from tests.features.fuzz.framing import FrameMaker
from tests.features.http2 import frames
from tests.features.http2.cases import Way, all_cases
from tests.features.http2.endpoints import Http2Endpoint, Script
from tests.features.http2.peers import Peer

_HEARD_SECONDS = 2.0
_ANNOTATIONS = {"backend-protocol": "GRPC"}
_CASES_HOST, _FRAMES_HOST = "calls.test", "frames.test"


class BrokenHttp2Endpoints:
    """Two namespaces whose only endpoints are these."""

    def __init__(self, ground: Ground, *, seed: int) -> None:
        self._ground = ground
        self._cases = [case for case in all_cases() if case.side == "endpoint"]
        self._endpoint = Http2Endpoint("calls")
        self._dice = random.Random(seed)
        self._peers: set[_RandomPeer] = set()

    async def start(self, stack: AsyncExitStack) -> None:
        """Start both and write their manifests."""
        await self._endpoint.start()
        stack.callback(self._endpoint.stop)
        loop = asyncio.get_running_loop()
        accepting = await loop.create_server(lambda: _RandomPeer(self._dice, self._peers), "127.0.0.1", 0)
        stack.callback(self._stop, accepting)
        for name, port in (("calls", self._endpoint.port), ("frames", accepting.sockets[0].getsockname()[1])):
            place = self._ground.honest._replace(port=port)
            self._ground.write(name, *site(name, [place], annotations=_ANNOTATIONS))

    def actors(self) -> tuple[Actor, ...]:
        return (
            Actor("http2 endpoint cases", "endpoint", self.case, pause_seconds=0.2),
            Actor("http2 endpoint frames", "endpoint", self.frames, pause_seconds=0.1, at_once=4),
        )

    async def case(self, turn: Turn) -> None:
        """The next case, and requests that meet it."""
        case = turn.dice.choice(self._cases)
        self._endpoint.begin(
            Script(case.endpoint, case.endpoint_settings, turn.dice.choice((Way.ONE_WRITE, Way.FRAMES)))
        )
        turn.count("cases")
        await asyncio.gather(*(self._ask(turn, _CASES_HOST) for _ in range(3)))

    async def frames(self, turn: Turn) -> None:
        await self._ask(turn, _FRAMES_HOST)

    async def _ask(self, turn: Turn, host: str) -> None:
        head = f"POST /x.Y/Z HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/grpc\r\nTE: trailers\r\n"
        async with RawClient(self._ground.http_port) as client:
            client.send(f"{head}Content-Length: 5\r\n\r\n".encode() + bytes(5))
            turn.count("requests")
            await heard(client, seconds=turn.dice.uniform(0.1, _HEARD_SECONDS))

    def _stop(self, accepting: asyncio.Server) -> None:
        accepting.close()
        for peer in tuple(self._peers):
            if peer.transport is not None:
                peer.transport.abort()


class _RandomPeer(Peer):
    """Answers each request with frames that are valid in the main."""

    def __init__(self, dice: random.Random, peers: set[_RandomPeer]) -> None:
        super().__init__(speaks_first=False)
        self._dice, self._peers = dice, peers
        self._preface = len(frames.PREFACE)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._peers.add(self)
        self.write(frames.settings([]))

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._peers.discard(self)

    def data_received(self, data: bytes) -> None:
        if self._preface:
            data, self._preface = data[self._preface :], max(0, self._preface - len(data))
        super().data_received(data)

    def head_came(self, stream: int) -> None:
        self.write(b"".join(FrameMaker(self._dice, (stream,)).sequence()))
