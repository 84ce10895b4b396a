"""Plays one case in one way and keeps what was seen on every side of the proxy. It judges nothing."""

from __future__ import annotations

import asyncio
import itertools
import ssl
from collections.abc import Sequence
from typing import Any

from tests.features.http2 import frames
from tests.features.http2.cases import Case, Way, block, digits, octets
from tests.features.http2.differences import DIFFERENT
from tests.features.http2.endpoints import Received
from tests.features.http2.peers import Half, Peer

PATIENCE_SECONDS = 90.0  # longer than any deadline of the stage
_PING = b"isalive?"
_CONNECT_SECONDS = 30.0

_numbers = itertools.count(100 * 65_536)  # other numbers than those of the cases of HTTP/1


def new_address() -> str:
    """An address in 127.0.0.0/8 that no other play has: not 127.0.0.1, which spoofed fields name."""
    number = next(_numbers)
    return f"127.{1 + number // 65536}.{number // 256 % 256}.{number % 256}"


class Play:
    """What was seen of one case in one way."""

    def __init__(self, case: Case, way: Way, engine: str) -> None:
        self.case, self.way, self.engine = case, way, engine
        self.address = new_address()
        different = DIFFERENT.get((engine, case.id))
        self.accept = list(different.accept) if different is not None else case.accept
        self.streams: dict[int, Half] = {}
        self.subject = case.stream
        self.goaway: tuple[int, int] | None = None
        self.is_lost = self.is_alive = False
        self.unexpected: list[str] = []
        self.requests: list[Received] = []
        self.notes: list[str] = []
        self.most_streams = 0
        self.clean_seconds: list[float | None] = []
        self.growth_bytes = 0

    @property
    def half(self) -> Half:
        """What the proxy said on the stream that is judged."""
        return self.streams.get(self.subject) or Half()


class Client:
    """The client of one play."""

    def __init__(self, play: Play, peer: Peer) -> None:
        self._play, self._peer = play, peer
        self._out: list[bytes] = []
        self._last = -1

    async def play(self) -> None:
        """Takes all steps and waits for what they lead to."""
        case, peer = self._play.case, self._peer
        if case.hello != "none":
            self._out += [frames.PREFACE, frames.settings([])]
        await self._take(case.do)
        await self._flush()
        self._play.subject = self._last if case.subject == "last" else case.stream
        await self._see_it_out()
        self._play.is_lost = peer.is_lost
        if peer.transport is not None:
            peer.transport.close()

    async def _see_it_out(self) -> None:
        case, peer = self._play.case, self._peer
        seconds = PATIENCE_SECONDS
        if case.answer:
            wanted = (self._play.subject, *case.also)
            await peer.until(lambda: all(peer.streams[each].is_over for each in wanted), seconds)
        elif not {"ignored", "unfinished"} & {each.partition(":")[0] for each in self._play.accept}:
            await peer.until(lambda: peer.goaway is not None and peer.goaway[1] != 0, seconds)
            return
        elif case.wait_ms:
            await peer.until(lambda: False, case.wait_ms / 1000)
        if peer.transport is not None:
            peer.transport.resume_reading()
        peer.write(frames.frame(frames.PING, 0, 0, _PING))
        self._play.is_alive = await peer.until(lambda: _PING in peer.pongs, seconds)

    async def _take(self, steps: Sequence[Sequence[Any]]) -> None:
        for step in steps:
            if self._peer.is_lost:
                return
            await self._take_one(step)

    async def _take_one(self, step: Sequence[Any]) -> None:  # noqa: C901, PLR0912 -- one case for each word of the file
        peer, out = self._peer, self._out
        match step:
            case ["req", stream, *options]:
                out.append(self._request(self._number(stream), options[0] if options else {}))
            case ["block", stream, items, *flags]:
                out.append(frames.frame(frames.HEADERS, flags[0] if flags else 5, self._number(stream), block(items)))
            case ["data", stream, data, *options]:
                out.append(self._data(self._number(stream), octets(data), options[0] if options else {}))
            case ["frame", kind, flags, stream, payload, *options]:
                length = options[0].get("length") if options else None
                out.append(frames.frame(_kind(kind), flags, self._number(stream), digits(payload), length))
            case ["over_max", kind, flags, stream]:
                await self._flush()
                await peer.until(lambda: peer.has_settings, PATIENCE_SECONDS)
                out.append(frames.frame(_kind(kind), flags, self._number(stream), bytes(peer.frame_bytes + 1)))
            case ["settings", pairs]:
                out.append(frames.settings(pairs))
            case ["window", stream, increment]:
                payload = increment.to_bytes(4, "big")
                out.append(frames.frame(frames.WINDOW_UPDATE, 0, self._number(stream), payload))
            case ["rst", stream, code]:
                payload = _code(code).to_bytes(4, "big")
                out.append(frames.frame(frames.RST_STREAM, 0, self._number(stream), payload))
            case ["text", data]:
                out.append(octets(data))
            case ["repeat", count, steps]:
                for _ in range(count):
                    await self._take(steps)
            case ["each_stream", inner]:
                await self._flush()
                await peer.until(lambda: peer.has_settings, PATIENCE_SECONDS)
                for _ in range(peer.stream_limit + 1):
                    await self._take_one(inner)
            case _:
                await self._flush()
                await self._wait(step)

    async def _wait(self, step: Sequence[Any]) -> None:  # noqa: C901 -- as above
        peer = self._peer
        match step:
            case ["wait", milliseconds]:
                await peer.until(lambda: False, milliseconds / 1000)
            case ["until", stream]:
                await peer.until(lambda: peer.streams[stream].is_over, PATIENCE_SECONDS)
            case ["got", stream, size]:
                await peer.until(lambda: len(peer.streams[stream].body) >= size, PATIENCE_SECONDS)
            case ["answered", stream]:
                await peer.until(lambda: bool(peer.streams[stream].head), PATIENCE_SECONDS)
            case ["fin"]:
                if peer.transport is not None and peer.transport.can_write_eof():
                    peer.transport.write_eof()
                elif peer.transport is not None:
                    peer.transport.close()  # TLS has no half-close
            case ["no_ack"]:
                peer.acknowledges = False
            case ["stop_reading"]:
                if peer.transport is not None:
                    peer.transport.pause_reading()
            case _:
                raise ValueError(step)

    async def _flush(self) -> None:
        out, self._out[:] = list(self._out), []
        if out:
            await self._peer.write_in(out, self._play.way)

    def _number(self, stream: int | str) -> int:
        if stream == "next":
            self._last += 2
        elif stream != "same":
            if int(stream):
                self._last = max(self._last, int(stream))
            return int(stream)
        return self._last

    def _request(self, stream: int, options: dict[str, Any]) -> bytes:
        host = "grpc.test" if self._play.case.side == "endpoint" else "app.test"
        pseudo = options.get("pseudo") or [
            [":method", options.get("method", "GET")],
            [":scheme", "https"],
            [":authority", host],
            [":path", options.get("path", "/x")],
        ]
        pseudo = [item for item in pseudo if item[0] not in options.get("without", ())]
        flags = frames.END_HEADERS | (frames.END_STREAM if options.get("end", True) else 0)
        return frames.frame(frames.HEADERS, flags, stream, block([*pseudo, *options.get("fields", ())]))

    @staticmethod
    def _data(stream: int, data: bytes, options: dict[str, Any]) -> bytes:
        flags, pad = frames.END_STREAM if options.get("end", True) else 0, options.get("pad")
        if pad is not None:
            flags, data = flags | frames.PADDED, bytes((pad,)) + data + bytes(pad)
        return frames.frame(frames.DATA, flags, stream, data)


async def connected(port: int, address: str, tls: ssl.SSLContext, name: str = "app.test") -> Peer:
    """A client's connection from `address`, with HTTP/2 agreed on. Nothing is sent."""
    async with asyncio.timeout(_CONNECT_SECONDS):
        _, peer = await asyncio.get_running_loop().create_connection(
            Peer, "127.0.0.1", port, ssl=tls, server_hostname=name, local_addr=(address, 0)
        )
    return peer


async def ask(port: int, tls: ssl.SSLContext, *, name: str = "app.test", host: str = "app.test") -> Half:
    """A request beyond reproach for `host` on a connection to `name` from an address of its own."""
    peer = await connected(port, new_address(), tls, name)
    pseudo = [[":method", "GET"], [":scheme", "https"], [":authority", host], [":path", "/clean"]]
    head = frames.frame(frames.HEADERS, 5, 1, block(pseudo))
    await peer.write_in([frames.PREFACE, frames.settings([]), head], Way.ONE_WRITE)
    await peer.until(lambda: peer.streams[1].is_over, PATIENCE_SECONDS)
    if peer.transport is not None:
        peer.transport.close()
    return peer.streams[1]


def _kind(kind: int | str) -> int:
    return kind if isinstance(kind, int) else frames.KINDS[kind]


def _code(code: int | str) -> int:
    return code if isinstance(code, int) else frames.CODES[code]
