"""The endpoints behind the proxy: a strict one that speaks HTTP/1.1, and one that writes the HTTP/2 frames of a case.

Requests are told apart by the client address that the proxy writes into X-Real-IP, so plays may run side by side.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, cast

import msgspec

from tests.features.http2 import frames
from tests.features.http2.cases import Way, block, digits, octets
from tests.features.http2.peers import Half, Peer
from tests.features.http_cases.messages import Message, Reader

OK = b"ok"
_BODIES = {b"/64k": bytes(64 * 1024), b"/1m": bytes(1024 * 1024)}
_SLOW_SECONDS = 1.5  # longer than the bytes of a case take one by one
_OF_ONE_HOP = b"Connection: keep-alive\r\nKeep-Alive: timeout=5\r\n"


class Received(msgspec.Struct):
    """One request as an endpoint got it. `host` is its Host or :authority."""

    method: bytes
    target: bytes
    host: bytes
    fields: list[tuple[bytes, bytes]]
    body: bytes
    service: str
    is_whole: bool = True

    def values(self, name: bytes) -> list[bytes]:
        return [value for each, value in self.fields if each == name]


class Http1Endpoint:
    """One endpoint of a Service. What is not parseable beyond doubt is kept in `rubbish`."""

    zone: str | None = None

    def __init__(self, service: str) -> None:
        self.service = service
        self.received: list[Received] = []
        self.rubbish = b""
        self.port = 0
        self.visits: set[_Visit] = set()
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        server = await asyncio.get_running_loop().create_server(lambda: _Visit(self), "127.0.0.1", 0)
        self._server, self.port = server, server.sockets[0].getsockname()[1]

    def stop(self) -> None:
        if self._server is not None:
            self._server.close()
        for visit in tuple(self.visits):
            visit.close()

    def of(self, address: str) -> list[Received]:
        """The requests of the client at `address`, whole or not."""
        known = address.encode()
        begun = [_received(each, self.service) for visit in self.visits for each in visit.reader.messages[-1:]]
        unfinished = [each for each in begun if not each.is_whole]
        return [each for each in self.received + unfinished if each.values(b"x-real-ip") == [known]]


class _Visit(asyncio.Protocol):
    """One connection from the proxy."""

    def __init__(self, endpoint: Http1Endpoint) -> None:
        self._endpoint = endpoint
        self._transport: asyncio.Transport | None = None
        self.reader = Reader(on_head=self._continue, on_end=self._answer)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._endpoint.visits.add(self)

    def data_received(self, data: bytes) -> None:
        self.reader.feed(data)
        if self.reader.rubbish:
            self._endpoint.rubbish += self.reader.rubbish
            self.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self._endpoint.visits.discard(self)

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def _write(self, data: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)

    def _continue(self, request: Message) -> None:
        if b"100-continue" in request.values(b"expect"):
            self._write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def _answer(self, request: Message) -> None:
        self._endpoint.received.append(_received(request, self._endpoint.service))
        self.reader.messages.clear()
        body = _BODIES.get(request.target, OK)
        own = b", ".join(request.values(b"x-own"))
        fields = _OF_ONE_HOP + (b"X-Own: %b\r\n" % own if own else b"")
        head = b"HTTP/1.1 200 OK\r\n%bContent-Length: %d\r\n\r\n" % (fields, len(body))
        answer = head if request.method == b"HEAD" else head + body
        if request.target == b"/slow":
            asyncio.get_running_loop().call_later(_SLOW_SECONDS, self._write, answer)
        else:
            self._write(answer)


def _received(request: Message, service: str) -> Received:
    fields, host = request.fields, b", ".join(request.values(b"host"))
    return Received(request.method, request.target, host, fields, bytes(request.body), service, request.complete)


class Script(msgspec.Struct):
    """What an HTTP/2 endpoint does to each request of a play in turn, the last for all that follow."""

    acts: list[list[list[Any]]]
    settings: list[list[int]]
    way: Way
    begun: int = 0


class Http2Endpoint:
    """An endpoint that speaks HTTP/2 with prior knowledge, and does what the `script` of the play under way says."""

    zone: str | None = None

    def __init__(self, service: str) -> None:
        self.service = service
        self.script = Script([], [], Way.ONE_WRITE)
        self.received: list[Received] = []
        self.notes: list[str] = []
        self.most_streams = 0
        self.port = 0
        self.visits: set[_Http2Visit] = set()
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        server = await asyncio.get_running_loop().create_server(lambda: _Http2Visit(self), "127.0.0.1", 0)
        self._server, self.port = server, server.sockets[0].getsockname()[1]

    def stop(self) -> None:
        if self._server is not None:
            self._server.close()
        self.close_visits()

    def close_visits(self) -> None:
        """Drops all connections, so that the next play begins on a new one."""
        for visit in tuple(self.visits):
            visit.close()

    def begin(self, script: Script) -> None:
        """Another play begins."""
        self.close_visits()
        self.script, self.received, self.notes, self.most_streams = script, [], [], 0


class _Http2Visit(Peer):
    """One connection from the proxy."""

    def __init__(self, endpoint: Http2Endpoint) -> None:
        super().__init__(speaks_first=False)
        self._endpoint = endpoint
        self._preface = len(frames.PREFACE)
        self._begun: set[int] = set()
        self._answered_early: set[int] = set()
        self._streams = 0
        self._tasks: set[asyncio.Task[None]] = set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._endpoint.visits.add(self)
        self.write(frames.settings(self._endpoint.script.settings))

    def data_received(self, data: bytes) -> None:
        if self._preface:
            data, self._preface = data[self._preface :], max(0, self._preface - len(data))
        pongs = len(self.pongs)
        super().data_received(data)
        if len(self.pongs) > pongs:
            self._endpoint.notes.append("pong")

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._endpoint.visits.discard(self)
        self._endpoint.notes.append("gone")
        for task in tuple(self._tasks):
            task.cancel()

    def close(self) -> None:
        if self.transport is not None:
            self.transport.close()

    def head_came(self, stream: int) -> None:
        if stream in self._begun:
            return
        self._begun.add(stream)
        endpoint = self._endpoint
        self._streams += 1
        endpoint.most_streams = max(endpoint.most_streams, self._streams)
        script = endpoint.script
        acts = script.acts[min(script.begun, len(script.acts) - 1)] if script.acts else []
        script.begun += 1
        task = asyncio.get_running_loop().create_task(self._act(stream, acts))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def stream_ended(self, stream: int) -> None:
        if stream not in self._answered_early:
            self._endpoint.received.append(_received_by_http2(self.streams[stream], self._endpoint.service))

    def stream_reset(self, stream: int) -> None:
        self._endpoint.notes.append("rst")

    async def _act(self, stream: int, acts: Sequence[Sequence[Any]]) -> None:
        half = self.streams[stream]
        if ["now"] not in acts[:1]:
            await self.until(lambda: half.is_over, 60)
        else:  # its end may never come
            self._answered_early.add(stream)
            self._endpoint.received.append(_received_by_http2(half, self._endpoint.service))
        for act in acts:
            await self._act_once(stream, half, act)
        self._streams -= 1

    async def _act_once(self, stream: int, half: Half, act: Sequence[Any]) -> None:
        match act:
            case ["now"]:
                pass
            case ["wait", milliseconds]:
                await self.until(lambda: False, milliseconds / 1000)
            case ["body"]:
                await self.until(lambda: half.is_over, 60)
            case ["close"]:
                self.close()
            case _:
                await self.write_in(_written(stream, act), self._endpoint.script.way)


def _written(stream: int, act: Sequence[Any]) -> list[bytes]:  # noqa: C901, PLR0911 -- one case for each word of the file
    """The frames of one act on `stream`."""
    match act:
        case ["head", fields, *end]:
            return [frames.frame(frames.HEADERS, 4 | bool(end and end[0]), stream, block(fields))]
        case ["heads", count, fields]:
            return [frames.frame(frames.HEADERS, 4, stream, block(fields))] * count
        case ["data", data, *end]:
            return [frames.frame(frames.DATA, int(bool(end and end[0])), stream, octets(data))]
        case ["trailers", fields]:
            return [frames.frame(frames.HEADERS, 5, stream, block(fields))]
        case ["rst", code]:
            return [frames.frame(frames.RST_STREAM, 0, stream, frames.CODES[code].to_bytes(4, "big"))]
        case ["goaway", last, code]:
            payload = _stream(last, stream).to_bytes(4, "big") + frames.CODES[code].to_bytes(4, "big")
            return [frames.frame(frames.GOAWAY, 0, 0, payload)]
        case ["frame", kind, flags, which, payload]:
            number = frames.KINDS[kind] if isinstance(kind, str) else kind
            return [frames.frame(number, flags, _stream(which, stream), digits(payload))]
        case ["many", int(count), *frame]:
            return _written(stream, ["frame", *frame]) * count
        case ["window", which, increment]:
            return [frames.frame(frames.WINDOW_UPDATE, 0, _stream(which, stream), increment.to_bytes(4, "big"))]
        case ["window", increment]:
            return [frames.frame(frames.WINDOW_UPDATE, 0, stream, increment.to_bytes(4, "big"))]
    raise ValueError(act)


def _stream(which: int | str, this: int) -> int:
    return this if which == "this" else int(which)


def _received_by_http2(half: Half, service: str) -> Received:
    fields = [field for field in half.head if not field[0].startswith(b":")]
    pseudo = {name: value for name, value in half.head if name.startswith(b":")}
    method, target, host = (pseudo.get(name, b"") for name in (b":method", b":path", b":authority"))
    return Received(method, target, host, fields, bytes(half.body), service)
