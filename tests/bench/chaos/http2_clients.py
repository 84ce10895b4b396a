"""Hostile clients that speak HTTP/2, over TLS and without: the hostile cases, random frames, floods, unread answers.

Responsible for what they send. Nothing is expected of the answers.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from tests.bench.chaos.actors import Actor, Turn
from tests.bench.chaos.ground import APP, Ground
from tests.features.fuzz.framing import FrameMaker
from tests.features.http2 import frames
from tests.features.http2.cases import Case, all_cases, block
from tests.features.http2.peers import Peer
from tests.features.http2.playing import Client, Play, connected, new_address

_PLAY_SECONDS = 6.0
_HEARD_SECONDS = 0.5
_HOLD_SECONDS = 6.0
_STREAMS = 100
_MANY = 2_000
_SEQUENCES = 8
_WINDOW_MOST = 2**31 - 1
_WINDOW_SETTING = 4
_OPENS, _OPENS_AND_ENDS = frames.END_HEADERS, frames.END_HEADERS | frames.END_STREAM


def actors(ground: Ground) -> tuple[Actor, ...]:
    """All of them, on both ports."""
    clients = Http2Clients(ground)
    return (
        Actor("http2 cases", "client", clients.case, pause_seconds=0.3, at_once=6),
        Actor("http2 frames", "client", clients.random_frames, pause_seconds=0.1, at_once=4),
        Actor("http2 floods", "client", clients.flood, pause_seconds=1.0, at_once=2),
        Actor("http2 case floods", "client", clients.case_flood, pause_seconds=5.0),
        Actor("http2 unread answers", "client", clients.unread, pause_seconds=4.0),
        Actor("http2 endless bodies", "client", clients.endless, pause_seconds=4.0),
    )


class Http2Clients:
    """One connection a turn."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        ours = [case for case in all_cases() if case.side == "client"]
        self._cases = [case for case in ours if case.flood is None]
        self._floods = [case for case in ours if case.flood is not None]

    async def case(self, turn: Turn) -> None:
        await self._play(turn, turn.dice.choice(self._cases))

    async def case_flood(self, turn: Turn) -> None:
        await self._play(turn, turn.dice.choice(self._floods))

    async def random_frames(self, turn: Turn) -> None:
        """Sequences of frames that are valid in the main, cut anywhere."""
        dice, maker = turn.dice, FrameMaker(turn.dice)
        async with self._peer(turn) as peer:
            peer.write(frames.PREFACE + frames.settings([]))
            for _ in range(_SEQUENCES):
                data = b"".join(maker.sequence())
                place = dice.randint(0, len(data))
                peer.write(data[:place])
                await asyncio.sleep(0)
                peer.write(data[place:])
                turn.count("sequences")
            await peer.until(lambda: False, _HEARD_SECONDS)

    async def flood(self, turn: Turn) -> None:
        """Two thousand of the same: resets, or frames that carry nothing."""
        head = frames.frame(frames.HEADERS, _OPENS, 1, _request("POST"))
        kinds = {
            "rapid resets": b"".join(map(_broken_off, range(3, 2 * _MANY, 2))),
            "ping": frames.frame(frames.PING, 0, 0, bytes(8)) * _MANY,
            "settings": frames.settings([(_WINDOW_SETTING, 70_000)]) * _MANY,
            "empty data": frames.frame(frames.DATA, 0, 1) * _MANY,
            "priority": frames.frame(frames.PRIORITY, 0, 1, bytes(4) + b"\x10") * _MANY,
            "window updates": frames.frame(frames.WINDOW_UPDATE, 0, 0, (1).to_bytes(4)) * _MANY,
            "continuation": frames.frame(frames.HEADERS, 0, 3, b"") + frames.frame(frames.CONTINUATION, 0, 3) * _MANY,
            "unknown": frames.frame(77, 0, 0, bytes(8)) * _MANY,
        }
        kind = turn.dice.choice(sorted(kinds))
        async with self._peer(turn) as peer:
            peer.write(frames.PREFACE + frames.settings([]) + head + kinds[kind])
            turn.count(kind)
            await peer.until(lambda: peer.goaway is not None, _PLAY_SECONDS)
            if peer.is_lost or peer.goaway is not None:
                turn.count("ended by zonal")

    async def unread(self, turn: Turn) -> None:
        """A hundred answers of 1 MiB with windows for all of them, and then nothing is read."""
        window = frames.frame(frames.WINDOW_UPDATE, 0, 0, (_WINDOW_MOST - 65_535).to_bytes(4))
        heads = (
            frames.frame(frames.HEADERS, _OPENS_AND_ENDS, stream, _request("GET", "/1m"))
            for stream in range(1, 2 * _STREAMS, 2)
        )
        async with self._peer(turn) as peer:
            peer.write(frames.PREFACE + frames.settings([(_WINDOW_SETTING, _WINDOW_MOST)]) + window + b"".join(heads))
            await peer.until(lambda: peer.has_settings, _PLAY_SECONDS)
            if peer.transport is not None and not peer.transport.is_closing():
                peer.transport.pause_reading()
            turn.count("answers", _STREAMS)
            await asyncio.sleep(turn.dice.uniform(1.0, _HOLD_SECONDS))

    async def endless(self, turn: Turn) -> None:
        """A hundred requests whose bodies never come."""
        heads = (frames.frame(frames.HEADERS, _OPENS, stream, _request("POST")) for stream in range(1, 2 * _STREAMS, 2))
        async with self._peer(turn) as peer:
            peer.write(frames.PREFACE + frames.settings([]) + b"".join(heads))
            turn.count("requests", _STREAMS)
            await peer.until(lambda: False, _HOLD_SECONDS)

    async def _play(self, turn: Turn, case: Case) -> None:
        turn.count("cases")
        async with self._peer(turn) as peer:
            with suppress(TimeoutError):
                async with asyncio.timeout(_PLAY_SECONDS):
                    await Client(Play(case, turn.dice.choice(case.ways), "ngh2"), peer).play()

    @asynccontextmanager
    async def _peer(self, turn: Turn) -> AsyncIterator[Peer]:
        """A connection, over TLS or without, that is cut at the end."""
        if turn.dice.random() < 0.5:
            peer = await connected(self._ground.https_port, new_address(), self._ground.client_tls("h2"), APP)
        else:
            loop, port = asyncio.get_running_loop(), self._ground.http_port
            _, peer = await loop.create_connection(Peer, "127.0.0.1", port, local_addr=(new_address(), 0))
        turn.count("connections")
        try:
            yield peer
        finally:
            if peer.transport is not None:
                peer.transport.abort()


def _request(method: str, path: str = "/x") -> bytes:
    return block([[":method", method], [":scheme", "https"], [":authority", APP], [":path", path]])


def _broken_off(stream: int) -> bytes:
    """A request and its reset."""
    code = frames.CODES["CANCEL"].to_bytes(4)
    return frames.frame(frames.HEADERS, _OPENS_AND_ENDS, stream, _request("GET")) + frames.frame(
        frames.RST_STREAM, 0, stream, code
    )
