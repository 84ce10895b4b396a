"""A small HTTP/1 client that sends exactly what it is told and shows exactly what came back."""

from __future__ import annotations

import asyncio
import json
import ssl
from typing import Any, NamedTuple

_LIMIT_SECONDS = 60.0


class Response(NamedTuple):
    """One response; field names in lower case, in the order they came."""

    status: int
    fields: list[tuple[str, str]]
    body: bytes

    def field(self, name: str) -> str | None:
        return next((value for each, value in self.fields if each == name), None)

    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def ends_connection(self) -> bool:
        return (self.field("connection") or "").lower() == "close"


class Connection:
    """One connection, used for one request after the other. Close it, or use it as a context."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def open(cls, port: int, *, tls: ssl.SSLContext | None = None, server_name: str = "") -> Connection:
        """Connect to `port` on loopback; with `tls`, ask for `server_name` (none if empty)."""
        name = (server_name or "") if tls else None
        return cls(*await asyncio.open_connection("127.0.0.1", port, ssl=tls, server_hostname=name))

    async def __aenter__(self) -> Connection:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._writer.close()

    @property
    def certificate(self) -> dict[str, Any]:
        """The verified certificate of the other side."""
        return dict(self._writer.get_extra_info("peercert"))

    async def send(self, request: bytes, *, method: str = "GET") -> Response:
        """Send bytes and wait for the final response to them, which has no body if `method` is HEAD."""
        self._writer.write(request)
        async with asyncio.timeout(_LIMIT_SECONDS):
            return await self._response(method)

    async def get(self, host: str, target: str = "/", *fields: str) -> Response:
        return await self.send(request_bytes("GET", target, f"Host: {host}", *fields))

    async def rest(self) -> bytes:
        """What else comes until the other side ends the connection."""
        async with asyncio.timeout(_LIMIT_SECONDS):
            return await self._reader.read()

    async def _response(self, method: str) -> Response:
        status, fields = 100, [("", "")]
        while status < 200:
            head = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            first, *lines = head.removesuffix("\r\n\r\n").split("\r\n")
            status = int(first.split(" ")[1])
            fields = [(name.lower(), value.strip()) for name, _, value in (line.partition(":") for line in lines)]
        response = Response(status, fields, b"")
        if method == "HEAD" or status in (204, 304):
            return response
        return response._replace(body=await self._body(response))

    async def _body(self, response: Response) -> bytes:
        if response.field("transfer-encoding") == "chunked":
            return await self._chunks()
        length = response.field("content-length")
        return await (self._reader.read() if length is None else self._reader.readexactly(int(length)))

    async def _chunks(self) -> bytes:
        body = b""
        while size := int(await self._reader.readuntil(b"\r\n"), 16):
            body += (await self._reader.readexactly(size + 2))[:-2]
        await self._reader.readuntil(b"\r\n")
        return body


def request_bytes(method: str, target: str, *fields: str, version: str = "1.1", body: bytes = b"") -> bytes:
    """A request as it goes on the wire; `fields` are whole lines, and a body needs its Content-Length among them."""
    lines = (f"{method} {target} HTTP/{version}", *fields, "", "")
    return "\r\n".join(lines).encode("latin-1") + body


async def get(port: int, host: str, target: str = "/", *fields: str) -> Response:
    """One GET on a connection of its own."""
    async with await Connection.open(port) as connection:
        return await connection.get(host, target, *fields)


def trusting(authority_pem: bytes | None = None) -> ssl.SSLContext:
    """A client's TLS settings: trust the one authority, or anybody."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if authority_pem is None:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    else:
        context.load_verify_locations(cadata=authority_pem.decode())
    return context
