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

from tests.features.gateway.cases import Json
from tests.features.gateway.stage import GatewayStage
from tests.features.gateway.streams import Streams, send, splitting
from tests.features.gateway.streams import Way as Stream
from tests.features.http2 import frames
from tests.features.http2.cases import Way, block
from tests.features.http2.peers import Peer
from tests.features.ingress_nginx.clients import Seen
from tests.features.ingress_nginx.messages import read_body, read_head, written

_ANSWER_SECONDS = 10.0
_HOST = "any.test"


async def ask(stage: GatewayStage, request: Json, seen: Seen, streams: Streams) -> None:
    """Sends `request`, and keeps the answer in `seen`. `streams` are held connections."""
    if "send" in request:
        context, name = (None, None) if request.get("tls") is None else _secure(stage, request, "imap")
        return await send(Stream(_port(stage, request), context, name), request, seen, streams)
    seen.started = time.monotonic()
    try:
        async with asyncio.timeout(_ANSWER_SECONDS):
            over_http2 = "grpc" in request or request.get("http") in (2, "2", "h2c")
            await (_ask_by_http2 if over_http2 else _ask)(stage, request, seen)
    except (OSError, asyncio.IncompleteReadError, TimeoutError, ConnectionError) as error:  # OSError: also all of TLS
        seen.failure = f"{type(error).__name__}: {error}"
    seen.ended = time.monotonic()


def _host(request: Json) -> str:
    return str(request.get("host", _HOST))


def _port(stage: GatewayStage, request: Json) -> int:
    number = request.get("port", 80 if request.get("tls") is None else 443)
    return stage.port(number, request.get("gateway", ""))


def _secure(stage: GatewayStage, request: Json, alpn: str) -> tuple[ssl.SSLContext, str]:
    """The context of a handshake, and the name that it sends; empty for none."""
    tls = request["tls"]
    asked = {"alpn": alpn, **{name: tls[name] for name in ("client", "alpn", "max") if name in tls}}
    context = stage.authorities.client_context(asked)
    name = tls.get("sni", _host(request).partition(":")[0]) or ""
    # A handshake that ends with a foreign certificate is an answer, and no refusal.
    if tls.get("verify", True) and not request["expect"].get("refused"):
        context.load_verify_locations(cadata=stage.authorities.authority("server").certificate_pem.decode())
        context.verify_mode = ssl.CERT_REQUIRED
        context.check_hostname = bool(name)
    return context, name


async def _ask(stage: GatewayStage, request: Json, seen: Seen) -> None:
    port = _port(stage, request)
    if request.get("tls") is None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**20)
    else:
        context, name = _secure(stage, request, "http/1.1")
        async with splitting(port, request["tls"].get("hello_in_pieces", ())) as way:
            reader, writer = await asyncio.open_connection(
                "127.0.0.1", way, limit=2**20, ssl=context, server_hostname=name
            )
        _note_tls(writer.get_extra_info("ssl_object"), seen)
    sending = asyncio.ensure_future(_send(request, seen.probe, writer))
    try:
        response = await read_head(reader)
        while response.status < 200 and response.status != 101:
            response = await read_head(reader)
        if request.get("method") != "HEAD" and response.status not in (101, 204, 304):
            try:
                await read_body(response, reader, may_end_it=True)
            except (asyncio.IncompleteReadError, ConnectionError):
                seen.closed = "early"
        seen.take(response)
        if response.status == 101:
            await _tunnel(request, reader, writer, seen)
    finally:
        sending.cancel()
        await asyncio.wait({sending})
        writer.transport.abort()


async def _tunnel(request: Json, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, seen: Seen) -> None:
    """Keeps a tunnel open for a while. One that is closed before is noted."""
    with suppress(TimeoutError):
        async with asyncio.timeout(request.get("open_for", 0)):
            await reader.read(1)
            seen.closed = "tunnel"


async def _send(request: Json, probe: str, writer: asyncio.StreamWriter) -> None:
    head, body = _head_and_body(request, probe)
    with suppress(ConnectionError):
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
    headers: list[tuple[str, Any]] = [("Host", _host(request)), ("X-Probe", probe)]
    headers += [(name, value) for name, value in request.get("headers", ())]
    answer = {**request.get("answer", {}), **({"hold": request["open_for"] + 1} if "open_for" in request else {})}
    if answer:
        headers.append(("X-Answer", base64.b64encode(json.dumps(answer).encode()).decode()))
    if "upgrade" in request:
        headers += [("Connection", "Upgrade"), ("Upgrade", request["upgrade"])]
        headers += [("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="), ("Sec-WebSocket-Version", "13")]
    else:
        headers.append(("Connection", "close"))
    if "body" in request or "body_size" in request:
        headers.append(("Content-Length", len(body)))
    return written(f"{request.get('method', 'GET')} {request['path']} HTTP/1.1", headers), body


async def _ask_by_http2(stage: GatewayStage, request: Json, seen: Seen) -> None:
    tls = request.get("tls")
    context, name = (None, None) if tls is None else _secure(stage, request, "h2")
    _, peer = await asyncio.get_running_loop().create_connection(
        Peer, "127.0.0.1", _port(stage, request), ssl=context, server_hostname=name
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


def _frames(request: Json, probe: str) -> list[bytes]:
    """A whole connection with one request on stream 1."""
    scheme = "http" if request.get("tls") is None else "https"
    call, body = request.get("grpc"), request.get("body", "").encode("latin-1")
    method, path = request.get("method", "GET"), request.get("path")
    fields = [["x-probe", probe], *([name.lower(), value] for name, value in request.get("headers", ()))]
    if call is not None:
        method, path, body = "POST", f"/{call['service']}/{call['method']}", bytes(5)
        fields += [["content-type", "application/grpc"], ["te", "trailers"]]
    if "answer" in request:
        fields.append(["x-answer", base64.b64encode(json.dumps(request["answer"]).encode()).decode()])
    pseudo = [[":method", method], [":scheme", scheme], [":authority", _host(request)], [":path", path]]
    flags = frames.END_HEADERS | (0 if body else frames.END_STREAM)
    said = [frames.PREFACE, frames.settings([]), frames.frame(frames.HEADERS, flags, 1, block(pseudo + fields))]
    return [*said, frames.frame(frames.DATA, frames.END_STREAM, 1, body)] if body else said


def _note_tls(connection: ssl.SSLObject, seen: Seen) -> None:
    seen.tls = {"tls_version": connection.version(), "alpn": connection.selected_alpn_protocol()}
    certificate = x509.load_der_x509_certificate(connection.getpeercert(binary_form=True) or b"")
    with suppress(x509.ExtensionNotFound):
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        seen.sans = names.get_values_for_type(x509.DNSName)
