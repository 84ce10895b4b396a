"""Sends one request exactly as a case says, and keeps all that came back."""

from __future__ import annotations

import asyncio
import base64
import json
import ssl
import time
from contextlib import suppress
from typing import Any

from cryptography import x509

from tests.features.http2 import frames
from tests.features.http2.cases import Way, block
from tests.features.http2.peers import Peer
from tests.features.ingress_nginx.cases import Json
from tests.features.ingress_nginx.messages import Headers, Message, read_body, read_head, written
from tests.features.ingress_nginx.stage import Stage

_ANSWER_SECONDS = 20.0
_CLOSE_SECONDS = 5.0


class Seen:
    """What a client saw. Without an answer the status is 0. Times are of the monotonic clock."""

    def __init__(self, probe: str) -> None:
        self.probe = probe
        self.status = 0
        self.headers: Headers = []
        self.content = b""
        self.started = time.monotonic()
        self.ended = 0.0
        self.body_at: float | None = None
        self.closed: bool | str = False
        self.failure = ""
        self.sans: list[str] = []
        self.tls: dict[str, str | None] = {}

    @property
    def served_by(self) -> tuple[str, str]:
        """The Service and the index of the endpoint that answered; empty if there was none."""
        service, _, index = next((value for name, value in self.headers if name == "x-served-by"), "").partition("/")
        return service, index

    def take(self, response: Message) -> None:
        self.status, self.headers = response.status, response.headers
        self.body_at = response.body_at
        self.content = response.content if response.whole else response.body


class Client:
    """The connections of one case."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._kept: dict[str, tuple[asyncio.StreamReader, asyncio.StreamWriter]] = {}

    async def ask(self, request: Json, seen: Seen) -> None:
        """Send `request`, whose placeholders are filled in, and keep the answer in `seen`."""
        try:
            async with asyncio.timeout(_ANSWER_SECONDS):
                await (self._ask_by_http2 if "http" in request else self._ask)(request, seen)
        except (OSError, asyncio.IncompleteReadError, TimeoutError) as error:  # OSError: also all of TLS
            seen.failure = f"{type(error).__name__}: {error}"
        seen.ended = time.monotonic()

    async def is_closed(self, name: str) -> bool:
        """Wait for the end of the connection that a case keeps under `name`."""
        return await _ends(self._kept[name][0])

    def close(self) -> None:
        for _, writer in self._kept.values():
            writer.transport.abort()

    async def _ask(self, request: Json, seen: Seen) -> None:
        name = request.get("conn", "")
        reader, writer = self._kept.get(name) or await self._connected(request, seen)
        if name:
            self._kept[name] = reader, writer
        sending = asyncio.ensure_future(_send(request, seen.probe, writer))
        try:
            await self._receive(request, seen, reader)
            if request.get("keep"):
                seen.closed = await _ends(reader)
        finally:
            sending.cancel()
            await asyncio.wait({sending})
            if not name:
                writer.transport.abort()

    async def _ask_by_http2(self, request: Json, seen: Seen) -> None:
        tls, host = request.get("tls"), request["host"]
        context = None if tls is None else self._stage.authorities.client_context({**tls, "alpn": "h2"})
        port = self._stage.ports["http_port" if tls is None else "https_port"]
        _, peer = await asyncio.get_running_loop().create_connection(
            Peer, "127.0.0.1", port, ssl=context, server_hostname=host if context is not None else None
        )
        try:
            await peer.write_in(_frames(request, seen.probe), Way.ONE_WRITE)
            await peer.until(lambda: peer.streams[1].is_over, _ANSWER_SECONDS)
        finally:
            if peer.transport is not None:
                peer.transport.abort()
        half = peer.streams[1]
        seen.status = half.status
        seen.headers = [(name.decode(), value.decode("latin-1")) for name, value in half.head + half.trailers]
        seen.content = bytes(half.body)

    async def _receive(self, request: Json, seen: Seen, reader: asyncio.StreamReader) -> None:
        response = await read_head(reader)
        while response.status < 200 and response.status != 101:
            response = await read_head(reader)
        is_bodiless = request["method"] == "HEAD" or response.status in (101, 204, 304)
        try:
            if not is_bodiless:
                await read_body(response, reader, may_end_it=True)
        except (asyncio.IncompleteReadError, ConnectionError):
            seen.closed = "early"
        seen.take(response)

    async def _connected(self, request: Json, seen: Seen) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        tls = request.get("tls")
        port = self._stage.ports["http_port" if tls is None else "https_port"]
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", port, local_addr=(request.get("from", "127.0.0.1"), 0), limit=2**20
        )
        try:
            if "proxy" in request:
                writer.write(request["proxy"].encode() + b"\r\n")
                await writer.drain()
            if tls is not None:
                name = tls.get("sni", request["host"].partition(":")[0])
                await writer.start_tls(self._stage.authorities.client_context(tls), server_hostname=name)
                _note_tls(writer.get_extra_info("ssl_object"), seen)
        except BaseException:
            writer.transport.abort()
            raise
        return reader, writer


async def _ends(reader: asyncio.StreamReader) -> bool:
    """Whether the other side closes, at once or after a while."""
    with suppress(TimeoutError):
        async with asyncio.timeout(_CLOSE_SECONDS):
            with suppress(ConnectionError):
                while await reader.read(65536):
                    pass
            return True
    return False


async def _send(request: Json, probe: str, writer: asyncio.StreamWriter) -> None:
    head, body = _head_and_body(request, probe)
    with suppress(ConnectionError):  # refused before everything was sent, which the judge sees
        writer.write(head)
        if "pause" in request:
            size, seconds = request["pause"]
            writer.write(body[:size])
            await writer.drain()
            await asyncio.sleep(seconds)
            body = body[size:]
        writer.write(body)
        await writer.drain()


def _head_and_body(request: Json, probe: str) -> tuple[bytes, bytes]:
    if "raw" in request:
        first, _, rest = request["raw"].partition("\r\n")
        return f"{first}\r\nX-Probe: {probe}\r\n{rest}".encode(), b""
    body = request.get("body", "x" * request.get("body_size", 0)).encode()
    headers: list[tuple[str, Any]] = [("Host", request["host"]), ("X-Probe", probe)]
    headers += request.get("headers", {}).items()
    if "answer" in request:
        headers.append(("X-Answer", base64.b64encode(json.dumps(request["answer"]).encode()).decode()))
    if "upgrade" in request:
        headers += [("Connection", "Upgrade"), ("Upgrade", request["upgrade"]), *_WEBSOCKET]
    elif not (request.get("keep") or request.get("conn")):
        headers.append(("Connection", "close"))
    if request.get("chunked"):
        headers.append(("Transfer-Encoding", "chunked"))
        body = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in _parts(body)) + b"0\r\n\r\n"
    elif "body" in request or "body_size" in request:
        headers.append(("Content-Length", len(body)))
    return written(f"{request['method']} {request['path']} HTTP/1.1", headers), body


def _frames(request: Json, probe: str) -> list[bytes]:
    """A whole connection with one request on stream 1."""
    body = request.get("body", "").encode("latin-1")
    scheme = "http" if request.get("tls") is None else "https"
    pseudo = [[":method", request["method"]], [":scheme", scheme], [":authority", request["host"]]]
    fields = [[":path", request["path"]], ["x-probe", probe], *map(list, request.get("headers", {}).items())]
    flags = frames.END_HEADERS | (0 if body else frames.END_STREAM)
    said = [frames.PREFACE, frames.settings([]), frames.frame(frames.HEADERS, flags, 1, block(pseudo + fields))]
    return [*said, frames.frame(frames.DATA, frames.END_STREAM, 1, body)] if body else said


_WEBSOCKET = [("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="), ("Sec-WebSocket-Version", "13")]


def _parts(body: bytes) -> list[bytes]:
    return [body[place : place + 1000] for place in range(0, len(body), 1000)]


def _note_tls(connection: ssl.SSLObject, seen: Seen) -> None:
    cipher = connection.cipher()
    seen.tls = {
        "tls_version": connection.version(),
        "cipher": cipher[0] if cipher else None,
        "alpn": connection.selected_alpn_protocol(),
    }
    certificate = x509.load_der_x509_certificate(connection.getpeercert(binary_form=True) or b"")
    with suppress(x509.ExtensionNotFound):
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        seen.sans = names.get_values_for_type(x509.DNSName)
