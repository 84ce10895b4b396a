"""The endpoints behind zonal. Each answers what a request or its Service says, and every request is recorded.

All endpoints share one listener: the address that a connection came to says which endpoint is meant.
"""

from __future__ import annotations

import asyncio
import base64
import json
import math
import socket
import ssl
from collections import defaultdict
from contextlib import suppress
from functools import partial
from typing import Any

import msgspec

from tests.fakes.http2_endpoints import Call, Http2Endpoint, Served
from tests.fakes.sockets import reset
from tests.features.ingress_nginx.authorities import Authorities
from tests.features.ingress_nginx.cases import Json, service_endpoints
from tests.features.ingress_nginx.messages import Headers, Message, read_body, read_head, written

CLUSTER_IP = "clusterIP"
"""The index of the endpoint that answers at a Service's clusterIP."""

_BODILESS = frozenset({204, 304})
_BACKLOG = 4096
_TLS_RECORD = b"\x16"
_WITHOUT_TLS = ("http", "h2c", "tcp")
_HTTP2 = ("h2c", "h2")


class Got(msgspec.Struct, frozen=True):
    """A request as an endpoint got it. `tls` is None for a plain connection. `at` is of the monotonic clock."""

    namespace: str
    service: str
    index: str
    method: str
    path: str
    version: str
    host: str
    headers: dict[str, str]
    body: str
    body_size: int
    tls: Json | None
    at: float


class Endpoint:
    """One endpoint of a Service. `host` and `port` are where it is."""

    def __init__(self, namespace: str, service: str, index: str, *, how: Json, host: str, port: int) -> None:
        self.namespace, self.service, self.index = namespace, service, index
        self.how = how
        self.host, self.port = host, port
        self.context: ssl.SSLContext | None = None
        self.how_it_is = "up"

    @property
    def label(self) -> str:
        return f"{self.host}:{self.port}"

    def speaking_http2(self, got: defaultdict[str, list[Got]]) -> Http2Endpoint:
        """Answers calls over HTTP/2 in their own content type, when they ask for it. Adds what it gets to `got`."""

        def answer(call: Call) -> None:
            fields = {name.decode(): value.decode("latin-1") for name, value in call.fields.items()}
            it = Got(
                namespace=self.namespace,
                service=self.service,
                index=self.index,
                method=fields.pop(":method"),
                path=fields.pop(":path"),
                version="HTTP/2.0",
                host=fields.pop(":authority"),
                headers=fields,
                body=call.body.decode("latin-1"),
                body_size=len(call.body),
                tls=None,
                at=asyncio.get_running_loop().time(),
            )
            got[fields.get("x-probe", "").split(",")[0]].append(it)
            kind = call.fields.get(b"content-type", b"text/plain")
            served_by = f"{self.service}/{self.index}".encode()
            asked = json.loads(base64.b64decode(call.fields.get(b"x-answer", b"e30=")))
            more = ((name.lower().encode(), value.encode()) for name, value in asked.get("headers", ()))
            status = str(asked.get("status", 200)).encode()
            said = ((b":status", status), (b"content-type", kind), (b"x-served-by", served_by), *more)
            trailers = ((b"grpc-status", b"0"),)
            reply = partial(call.answer, msgspec.json.encode(it), fields=said, trailers=trailers)
            if delay := asked.get("delay"):
                asyncio.get_running_loop().call_later(delay, lambda: None if call.is_closed else reply())
            else:
                reply()

        return Http2Endpoint(answer)


class Endpoints:
    """All endpoints of a start. `got` holds what they received, by the value of X-Probe."""

    def __init__(self, authorities: Authorities) -> None:
        self.got: defaultdict[str, list[Got]] = defaultdict(list)
        self.port = 0
        self._authorities = authorities
        self._by_host: dict[str, Endpoint] = {}
        self._held: list[socket.socket] = []
        self._tasks: set[asyncio.Task[None]] = set()
        # Of a listener that names its protocol, asyncio switches Nagle's algorithm off for accepted connections.
        self._listener = socket.socket(proto=socket.IPPROTO_TCP)

    async def start(self) -> None:
        self._listener.setblocking(False)
        self._listener.bind(("0.0.0.0", 0))
        self._listener.listen(_BACKLOG)
        self.port = self._listener.getsockname()[1]
        self._spawn(self._accept())

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for each in (self._listener, *self._held):
            each.close()

    def add(self, namespace: str, name: str, service: Json, *, known: list[Endpoint]) -> list[Endpoint]:
        """The endpoints of a Service, of which the last is its clusterIP if there is one. Null ones are left out.

        Of those `known`, the ones stay that are not said to be otherwise.
        """
        same = {(each.index, each.how_it_is): each for each in known if _apart(each.how) == _apart(service)}
        hows = [(str(index), how) for index, how in enumerate(service_endpoints(service)) if how is not None]
        if service.get("cluster_ip"):
            hows.append((CLUSTER_IP, "up"))
        return [same.get(place) or self._place(namespace, name, *place, service) for place in hows]

    def _place(self, namespace: str, name: str, index: str, how: str, service: Json) -> Endpoint:
        number = len(self._by_host) + len(self._held) + 1
        host = f"127.16.{number // 250}.{number % 250 + 1}"
        endpoint = Endpoint(namespace, name, index, how=service, host=host, port=self.port)
        endpoint.how_it_is = how
        if how == "up":
            self._by_host[host] = endpoint
            if service.get("protocol", "http") not in _WITHOUT_TLS:
                names = tuple(service.get("cert_names", [name]))
                authority, clients = service.get("cert_ca", "server"), service.get("client_ca")
                endpoint.context = self._authorities.server_context(names, authority, clients)
                endpoint.context.sni_callback = _keep_name
                endpoint.context.set_alpn_protocols(["h2" if service["protocol"] == "h2" else "http/1.1"])
        else:
            endpoint.port = self._hold(host, listening=how == "hang")
        return endpoint

    def _hold(self, host: str, *, listening: bool) -> int:
        """A port that refuses connections, or one that leaves them without an answer because its queue is full."""
        held = socket.socket()
        self._held.append(held)
        held.bind((host, 0))
        if listening:
            held.listen(0)
            for _ in range(2):
                waiting = socket.socket()
                waiting.setblocking(False)
                with suppress(BlockingIOError):
                    waiting.connect(held.getsockname())
                self._held.append(waiting)
        return int(held.getsockname()[1])

    async def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            connection, _ = await loop.sock_accept(self._listener)
            self._spawn(self._visit(connection))

    def _spawn(self, work: Any) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _visit(self, connection: socket.socket) -> None:
        endpoint = self._by_host[connection.getsockname()[0]]
        loop = asyncio.get_running_loop()
        if endpoint.how.get("protocol") in _HTTP2:
            with suppress(OSError):  # no handshake
                await loop.connect_accepted_socket(
                    lambda: Served(endpoint.speaking_http2(self.got)), connection, ssl=endpoint.context
                )
            return
        reader = asyncio.StreamReader(limit=2**20)
        protocol = asyncio.StreamReaderProtocol(reader)
        context = endpoint.context
        if endpoint.how.get("protocol") == "both" and await _first_byte(connection) != _TLS_RECORD:
            context = None
        try:
            transport, _ = await loop.connect_accepted_socket(lambda: protocol, connection, ssl=context)
        except (OSError, ssl.SSLError):
            return  # no handshake
        writer = asyncio.StreamWriter(transport, protocol, reader, loop)
        serve = self._echo if endpoint.how.get("protocol") == "tcp" else self._serve
        try:
            while await serve(endpoint, reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # zonal is done with this connection
        finally:
            writer.close()

    async def _echo(self, endpoint: Endpoint, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Echoes a line, whose first word is a probe, behind who did so. Returns whether the connection goes on."""
        said = await (reader.read() if endpoint.how.get("answer_after_eof") else reader.readuntil(b"\n"))
        probe = said.partition(b" ")[0].decode("latin-1")
        line = Message("  ", [])
        line.body = said
        self.got[probe].append(_got(endpoint, line, _tls_of(writer)))
        writer.write(f"{endpoint.service}/{endpoint.index} ".encode() + said)
        await writer.drain()
        return not endpoint.how.get("answer_after_eof")

    async def _serve(self, endpoint: Endpoint, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Serve one request. Returns whether the connection goes on."""
        request = await read_head(reader)
        if request.value("expect").lower() == "100-continue":
            writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        await read_body(request, reader, may_end_it=False)
        got = _got(endpoint, request, _tls_of(writer))
        self.got[request.value("x-probe").split(",")[0]].append(got)
        if request.values("upgrade"):
            writer.write(written("HTTP/1.1 101 Switching Protocols", [*_UPGRADE, *_served_by(endpoint)]))
            await asyncio.sleep(_answer_of(endpoint, request).get("hold", 0))
            return False
        answer = _answer_of(endpoint, request)
        if len(self.got[request.value("x-probe").split(",")[0]]) > answer.get("fail", math.inf):
            answer = {}
        if answer.get("reset") or str(answer.get("reset_endpoint", "")) == endpoint.index:
            reset(writer)
            return False
        return await _Answering(answer, got, request, writer).answer(_served_by(endpoint))


_UPGRADE = [("Connection", "Upgrade"), ("Upgrade", "websocket")]


class _Answering:
    """The answer to one request."""

    def __init__(self, answer: Json, got: Got, request: Message, writer: asyncio.StreamWriter) -> None:
        self._answer = answer
        self._body = _body_of(answer, got)
        self._is_bodiless = got.method == "HEAD" or answer.get("status", 200) in _BODILESS
        self._version = got.version
        self._goes_on = got.version == "HTTP/1.1" and "close" not in request.value("connection").lower()
        self._writer = writer

    async def answer(self, served_by: Headers) -> bool:
        """Send the answer. Returns whether the connection goes on."""
        answer = self._answer
        await asyncio.sleep(answer.get("delay", 0))
        headers = [*served_by, ("Content-Type", answer.get("content_type", "text/plain"))]
        headers += [(name, value) for name, value in answer.get("headers", ())]
        pieces, gap = self._pieces()
        is_chunked = gap > 0 and self._version == "HTTP/1.1"
        if is_chunked:
            headers.append(("Transfer-Encoding", "chunked"))
        elif not gap and answer.get("status", 200) not in _BODILESS:
            headers.append(("Content-Length", str(len(self._body))))
        if not self._goes_on:
            headers.append(("Connection", "close"))
        self._writer.write(written(f"{self._version} {answer.get('status', 200)} Fine", headers))
        for number, piece in enumerate([] if self._is_bodiless else pieces):
            await asyncio.sleep(gap if number else 0)
            self._writer.write(b"%x\r\n%b\r\n" % (len(piece), piece) if is_chunked else piece)
            await self._writer.drain()
        if is_chunked and not self._is_bodiless:
            self._writer.write(b"0\r\n\r\n")
        return self._goes_on

    def _pieces(self) -> tuple[list[bytes], float]:
        """The body in pieces, and the seconds between them."""
        if "trickle" in self._answer:
            count, gap = self._answer["trickle"]
            return [b"x"] * count, gap
        if "stall" in self._answer:
            half = len(self._body) // 2
            return [self._body[:half], self._body[half:]], self._answer["stall"]
        return [self._body], 0


def _apart(service: Json) -> Json:
    """What a Service says about each of its endpoints."""
    return {name: value for name, value in service.items() if name != "endpoints"}


def _served_by(endpoint: Endpoint) -> Headers:
    return [("X-Served-By", f"{endpoint.service}/{endpoint.index}")]


def _answer_of(endpoint: Endpoint, request: Message) -> Json:
    """What the Service answers to every request, or else what this request asks for."""
    user = endpoint.how.get("basic_auth")
    if user is not None and request.value("authorization") != f"Basic {base64.b64encode(user.encode()).decode()}":
        return {"status": 401, "headers": [["WWW-Authenticate", 'Basic realm="endpoint"']]}
    if "answer" in endpoint.how:
        return dict(endpoint.how["answer"])
    asked = json.loads(base64.b64decode(request.value("x-answer") or "e30="))
    return asked if asked.get("only", endpoint.service) == endpoint.service else {}


def _body_of(answer: Json, got: Got) -> bytes:
    if "body" in answer:
        return str(answer["body"]).encode()
    return b"x" * answer["size"] if "size" in answer else msgspec.json.encode(got)


def _got(endpoint: Endpoint, request: Message, tls: Json | None) -> Got:
    method, path, version = request.start
    return Got(
        namespace=endpoint.namespace,
        service=endpoint.service,
        index=endpoint.index,
        method=method,
        path=path,
        version=version,
        host=request.value("host"),
        headers={name: request.value(name) for name, _ in request.headers},
        body=request.body[:65536].decode("latin-1"),
        body_size=len(request.body),
        tls=tls,
        at=request.at,
    )


def _keep_name(connection: ssl.SSLObject, name: str | None, _: ssl.SSLContext) -> None:
    connection.asked_name = name  # type: ignore[attr-defined]


def _tls_of(writer: asyncio.StreamWriter) -> Json | None:
    connection = writer.get_extra_info("ssl_object")
    if connection is None:
        return None
    subject = dict(part[0] for part in (connection.getpeercert() or {}).get("subject", ()))
    return {
        "version": connection.version(),
        "sni": getattr(connection, "asked_name", None),
        "client_cn": subject.get("commonName"),
    }


async def _first_byte(connection: socket.socket) -> bytes:
    """The first byte of a connection, which stays unread."""
    loop, readable = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(connection, readable.set)
    await readable.wait()
    loop.remove_reader(connection)
    return connection.recv(1, socket.MSG_PEEK)
