"""Sends one request to an auth service and reads what counts of its answer. aiohttp speaks HTTP here.

Requests share open connections and nothing else: no cookies, no redirects, no proxy of the system.
This module is imported only where a route has an auth service, because aiohttp takes 8 MiB in each worker.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import ssl
from collections.abc import Callable
from contextvars import ContextVar

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.connector import AddrInfoType
from multidict import CIMultiDict
from yarl import URL

from balancer.connections.checked_tls import checked_contexts
from balancer.connections.endpoint_tls import endpoint_context, endpoint_name
from balancer.connections.http2_copies import send_over_http2
from balancer.connections.names import Addresses, Names
from balancer.matching.gates.external_auth.answers import AuthAnswer
from balancer.matching.gates.external_auth.requests import AuthRequest
from balancer.model.addresses import is_forbidden, is_forbidden_host
from balancer.model.handshakes import Handshake

_HEAD_LINE_BYTES_MOST = 8190
_HEAD_LINES_MOST = 100
_BUFFER_BYTES = 16 * 1024
_BODY_BYTES_MOST = 64 * 1024  # of a refusal; a longer body is left out, and its connection closed
_CONNECT_SECONDS = 5.0
_IDLE_SECONDS = 10.0  # many servers close idle connections after 60 s, some after 15 s
_REST_SECONDS = 1.0  # for the end of an answer that has let a client pass already
_REFUSALS = frozenset((401, 403))

_ADDRESSES: ContextVar[Addresses] = ContextVar("_ADDRESSES")

Answered = Callable[[AuthAnswer], None]


class AuthSession:
    """Kept connections to auth services. Made inside a running loop."""

    __slots__ = ("_allow_local", "_contexts", "_names", "_session")

    def __init__(self, names: Names, *, allow_local: bool) -> None:
        """`allow_local` as in `ExternalAuth`."""
        self._names = names
        self._allow_local = allow_local
        self._contexts = checked_contexts()
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                limit=0,  # `AuthClient` bounds the requests
                resolver=_AddressesOfTask(),
                use_dns_cache=False,  # `Names` remembers
                socket_factory=None if allow_local else _judged_socket,
                keepalive_timeout=_IDLE_SECONDS,
            ),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None, connect=None, sock_connect=_CONNECT_SECONDS),
            auto_decompress=False,
            skip_auto_headers=("Accept", "Accept-Encoding", "Content-Type", "User-Agent"),
            read_bufsize=_BUFFER_BYTES,
            max_line_size=_HEAD_LINE_BYTES_MOST,
            max_field_size=_HEAD_LINE_BYTES_MOST,
            max_headers=_HEAD_LINES_MOST,
        )

    async def ask(self, request: AuthRequest, answered: Answered) -> None:
        """Sends `request` and calls `answered` as soon as everything that counts of the answer is known.

        Afterwards the rest of the answer is read, so that the connection can be used again. Raises OSError if there is
        no answer, and perhaps after `answered` was called.
        """
        try:
            await self._exchange(request, answered)
        except (aiohttp.ClientError, ValueError) as error:
            raise ConnectionError(type(error).__name__) from error

    async def _exchange(self, request: AuthRequest, answered: Answered) -> None:
        url = URL(f"{request.scheme}://{request.authority}{request.target.decode('ascii')}", encoded=True)
        host = url.raw_host or ""
        if not self._allow_local and is_forbidden_host(host):
            raise PermissionError("the host is none where a tenant may send requests")
        if request.http2:
            await send_over_http2(request, self._contexts)
            return
        if not _is_address(host):
            _ADDRESSES.set(await self._names.find(request.tenant, host))
        async with self._session.request(
            request.method,
            url,
            headers=_headers(request),
            data=request.body or None,
            allow_redirects=False,
            ssl=await self._context(request) if request.scheme == "https" else True,
            server_hostname=endpoint_name(request.tls, host) if request.tls is not None else None,
        ) as response:
            fields = tuple((name.lower(), value) for name, value in response.raw_headers)
            if response.status not in _REFUSALS:
                answered(AuthAnswer(response.status, fields))
                async with asyncio.timeout(_REST_SECONDS):
                    await _body(response)
            else:
                body = await _body(response)
                answered(AuthAnswer(response.status, fields, body))

    async def _context(self, request: AuthRequest) -> ssl.SSLContext:
        if request.tls is not None:
            return await self._contexts.of(request.tenant, request.tls)
        return endpoint_context(Handshake(verify=request.verify))

    async def close(self) -> None:
        """Closes every connection."""
        await self._session.close()


def _is_address(host: str) -> bool:
    """Whether a host is an IP address, which aiohttp does not look up."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _headers(request: AuthRequest) -> CIMultiDict[str]:
    headers = CIMultiDict((name.decode("ascii"), _text(value)) for name, value in request.fields)
    headers["Host"] = request.host.decode("ascii")
    return headers


def _text(value: bytes) -> str:
    """A field's value as text that aiohttp writes as UTF-8. Bytes that are no UTF-8 count as Latin-1."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")


async def _body(response: aiohttp.ClientResponse) -> bytes:
    """The body; empty, and the connection closed, if it is too long."""
    parts: list[bytes] = []
    size = 0
    async for part in response.content.iter_any():
        parts.append(part)
        size += len(part)
        if size > _BODY_BYTES_MOST:
            response.close()
            return b""
    return b"".join(parts)


class _AddressesOfTask(AbstractResolver):
    """Gives aiohttp the addresses that `AuthSession` has found for the request of this task."""

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """See `AbstractResolver.resolve`."""
        return [
            ResolveResult(hostname=host, host=address, port=port, family=kind, proto=socket.IPPROTO_TCP, flags=0)
            for kind, address in _ADDRESSES.get()
        ]

    async def close(self) -> None:
        """Does nothing, because nothing is open."""


def _judged_socket(info: AddrInfoType) -> socket.socket:
    """The socket for a connection to the address in `info`. Raises OSError if no tenant may connect to the address.

    Here and nowhere earlier: a name may stand for another address whenever it is looked up.
    """
    family, kind, protocol, _, place = info
    address = str(place[0])
    if is_forbidden(ipaddress.ip_address(address.partition("%")[0])) or is_own(family, address):
        raise PermissionError(f"{address} is no address where a tenant may send requests")
    return socket.socket(family, kind, protocol)


def is_own(family: int, address: str) -> bool:
    """Whether an address is one of this machine, such as that of the pod. No packet is sent."""
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((address, 9))  # the kernel chooses the way: to itself from the same address
        except OSError:
            return False
        return bool(probe.getsockname()[0] == probe.getpeername()[0])
