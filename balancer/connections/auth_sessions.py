"""Sends one request to an auth service and reads what counts of its answer. aiohttp speaks HTTP here.

Requests share open connections and nothing else: no cookies, no redirects, no proxy of the system.
This module is imported only where a route has an auth service, because aiohttp takes 8 MiB in each worker.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import threading
from collections.abc import Callable

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from multidict import CIMultiDict
from yarl import URL

from balancer.connections.tls import endpoint_context
from balancer.matching.gates.external_auth.answers import AuthAnswer
from balancer.matching.gates.external_auth.requests import AuthRequest
from balancer.model.addresses import is_local, is_local_literal
from balancer.model.handshakes import Handshake

_HEAD_LINE_BYTES_MOST = 8190
_HEAD_LINES_MOST = 100
_BUFFER_BYTES = 16 * 1024
_BODY_BYTES_MOST = 64 * 1024  # of a refusal; a longer body is left out, and its connection closed
_CONNECT_SECONDS = 5.0
_IDLE_SECONDS = 10.0  # many servers close idle connections after 60 s, some after 15 s
_NAME_SECONDS = 10  # for which the addresses of a name are remembered; Services rarely move
_LOOK_UPS_AT_ONCE = 16
_REST_SECONDS = 1.0  # for the end of an answer that has let a client pass already
_REFUSALS = frozenset((401, 403))
_TRIED_ADDRESSES_MOST = 4

Answered = Callable[[AuthAnswer], None]


class AuthSession:
    """Kept connections to auth services. Made inside a running loop."""

    __slots__ = ("_allow_local", "_session")

    def __init__(self, *, allow_local: bool) -> None:
        """`allow_local` as in `ExternalAuth`."""
        self._allow_local = allow_local
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                limit=0,  # `AuthClient` bounds the requests
                resolver=_SystemNames(allow_local=allow_local),
                ttl_dns_cache=_NAME_SECONDS,
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
        if not self._allow_local and is_local_literal(url.raw_host or ""):
            raise ConnectionError("a loopback, link-local or metadata address")  # aiohttp looks no addresses up
        async with self._session.request(
            request.method,
            url,
            headers=_headers(request),
            data=request.body or None,
            allow_redirects=False,
            ssl=endpoint_context(Handshake(verify=request.verify)) if request.scheme == "https" else True,
        ) as response:
            fields = tuple((name.lower(), value) for name, value in response.raw_headers)
            if response.status not in _REFUSALS:
                answered(AuthAnswer(response.status, fields))
                async with asyncio.timeout(_REST_SECONDS):
                    await _body(response)
            else:
                body = await _body(response)
                answered(AuthAnswer(response.status, fields, body))

    async def close(self) -> None:
        """Closes every connection."""
        await self._session.close()


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


class _SystemNames(AbstractResolver):
    """Looks names up with the resolver of the system, each in a thread that the end of the process does not wait for.

    A look-up may take half a minute and cannot be cancelled, so no pool of threads that others use may run it.
    """

    def __init__(self, *, allow_local: bool) -> None:
        self._allow_local = allow_local
        self._free = asyncio.Semaphore(_LOOK_UPS_AT_ONCE)

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """The addresses of `host` that a tenant may name. Raises OSError."""
        async with self._free:
            found = await _look_up(host, port, family)
        if not self._allow_local:
            found = [each for each in found if not is_local(ipaddress.ip_address(each["host"].partition("%")[0]))]
        if not found:
            raise OSError("the name stands only for loopback, link-local and metadata addresses")
        return found[:_TRIED_ADDRESSES_MOST]

    async def close(self) -> None:
        """Does nothing, because nothing is open."""


async def _look_up(host: str, port: int, family: socket.AddressFamily) -> list[ResolveResult]:
    loop = asyncio.get_running_loop()
    done: asyncio.Future[list[ResolveResult]] = loop.create_future()

    def tell(found: list[ResolveResult] | None, problem: OSError | None) -> None:
        if done.done():
            return
        if problem is not None:
            done.set_exception(problem)
        elif found is not None:
            done.set_result(found)

    def run() -> None:
        found, problem = None, None
        try:
            found = _addresses(host, port, family)
        except (OSError, UnicodeError) as error:
            problem = error if isinstance(error, OSError) else OSError("not a name")
        try:
            loop.call_soon_threadsafe(tell, found, problem)
        except RuntimeError:  # the loop has ended
            return

    threading.Thread(target=run, name="auth-name", daemon=True).start()
    return await done


def _addresses(host: str, port: int, family: socket.AddressFamily) -> list[ResolveResult]:
    found = socket.getaddrinfo(host, port, family=family, type=socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG)
    return [
        ResolveResult(hostname=host, host=str(address[0]), port=port, family=kind, proto=protocol, flags=0)
        for kind, _, protocol, _, address in found
    ]
