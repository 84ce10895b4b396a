"""Makes HTTP requests to the API server: one exchange at a time, with explicit timeouts and without retries.

Owns the connections, and reads credentials again when their files may have changed. Raises `ApiError` only, whose
message is one line without secrets. Does not know what a path or a body means.
"""

from __future__ import annotations

import asyncio
import logging
import math
import os
import socket
from asyncio.trsock import TransportSocket
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from importlib.metadata import version
from pathlib import Path
from ssl import SSLCertVerificationError
from typing import Final, cast
from urllib.parse import urlencode

import aiohttp
import msgspec

from ingress.sources.kubernetes.client_library import ApiClient, Configuration
from ingress.sources.kubernetes.credentials import BEARER, CannotConnect, Credentials, trust_of

BODY_BYTES_MAX: Final = 64 * 1024 * 1024
"""The largest body that is read into memory. A page of 500 slices of 100 endpoints has 20 MiB."""

# The kubelet replaces a token at 80 % of its life, and every token lives for at least ten minutes.
RECHECK_SECONDS: Final = 60.0

# A peer that is gone without a FIN is noticed after 30 s + 3 x 10 s.
_KEEPALIVE: Final = (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3))

_LOG = logging.getLogger(__name__)


class ApiError(Exception):
    """No usable answer came: refused, reset, late, cut or not trusted. `problem` is one line without secrets."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem


class TooLarge(ApiError):
    """The body was larger than the limit. The rest was not read."""


class ApiResponse:
    """A response whose head has arrived. Its body can be read once."""

    __slots__ = ("_response", "retry_after_seconds", "status")

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response
        self.status = response.status
        self.retry_after_seconds = _retry_after(response)

    async def read(self, limit_bytes: int = BODY_BYTES_MAX) -> bytes:
        """The whole body. Raises `ApiError` if it is cut or late, `TooLarge` if it exceeds the limit."""
        body = bytearray()
        async for chunk in self.chunks():
            body += chunk
            if len(body) > limit_bytes:
                raise TooLarge(f"the answer is larger than {limit_bytes} bytes")
        return bytes(body)

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """The body in the pieces in which it arrives, until its clean end. Raises `ApiError` if the body is cut."""
        with _translated_errors():
            async for chunk in self._response.content.iter_any():
                yield chunk


class ApiServer:
    """The API server. A process has one; its exchanges may run side by side."""

    __slots__ = ("_credentials", "_due_at", "_loads", "_lock", "_recheck_seconds", "_retired", "_transport")

    def __init__(
        self, credentials: Credentials, configuration: Configuration, *, recheck_seconds: float = RECHECK_SECONDS
    ) -> None:
        """`configuration` holds the first credentials. They are read again at most every `recheck_seconds`."""
        self._credentials = credentials
        self._transport = _Transport(configuration)
        self._retired: set[_Transport] = set()
        self._recheck_seconds = recheck_seconds
        self._due_at = asyncio.get_running_loop().time() + recheck_seconds
        self._loads = 0
        self._lock = asyncio.Lock()

    @classmethod
    async def connect(
        cls, *, kubeconfig: Path | None, context: str | None = None, recheck_seconds: float = RECHECK_SECONDS
    ) -> ApiServer:
        """Connects with a kubeconfig (`context`: one of its contexts), or without one as a pod. Sends no request.

        Raises `CannotConnect`.
        """
        credentials = Credentials(kubeconfig, context=context)
        configuration = await credentials.load()
        try:
            return cls(credentials, configuration, recheck_seconds=recheck_seconds)
        except (OSError, ValueError):  # ssl.SSLError is an OSError
            raise CannotConnect(f"cannot use the certificates of {configuration.host}: they are malformed") from None

    @asynccontextmanager
    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] = {},
        accept: str = "application/json",
        body: bytes | None = None,
        content_type: str = "application/json",
        connect_timeout_seconds: float = 10,
        read_timeout_seconds: float = 30,
        total_timeout_seconds: float | None = 60,
    ) -> AsyncGenerator[ApiResponse, None]:
        """Makes one exchange. The end of the block drops what is left of the body. No status is an error here.

        `body` is JSON. Raises `ApiError` if no head arrives. Nothing is retried.
        """
        await self._renew_when_due()
        transport = self._transport
        transport.exchanges += 1
        try:
            response = await transport.call(
                method,
                path,
                query=query,
                headers={"Accept": accept, "Content-Type": content_type},
                body=body,
                timeouts=aiohttp.ClientTimeout(
                    total=total_timeout_seconds,
                    connect=connect_timeout_seconds,
                    sock_connect=connect_timeout_seconds,
                    sock_read=read_timeout_seconds,
                ),
            )
            try:
                yield ApiResponse(response)
            finally:
                response.close()
        finally:
            transport.exchanges -= 1
            await self._close_unused()

    @asynccontextmanager
    async def websocket(
        self, path: str, *, query: Mapping[str, str], protocol: str, connect_timeout_seconds: float = 10
    ) -> AsyncGenerator[aiohttp.ClientWebSocketResponse, None]:
        """Opens a WebSocket with `protocol`, until the end of the block. Raises `ApiError` if that fails."""
        await self._renew_when_due()
        transport = self._transport
        transport.exchanges += 1
        try:
            with _translated_errors():
                async with asyncio.timeout(connect_timeout_seconds):
                    opened = await transport.websocket(path, query=query, protocol=protocol)
            peer = opened.get_extra_info("socket")
            try:
                yield opened
            finally:
                await opened.close()
                _cut(peer)
        finally:
            transport.exchanges -= 1
            await self._close_unused()

    async def refresh_credentials(self) -> None:
        """Reads the credentials now, for example after a 401. If they cannot be read, the old ones stay."""
        loads = self._loads
        async with self._lock:
            if self._loads == loads:  # else another caller has read them while this one waited
                await self._renew(anew=True)

    async def close(self) -> None:
        """Ends every connection."""
        for transport in (self._transport, *self._retired):
            await transport.close()
        self._retired.clear()

    async def _renew_when_due(self) -> None:
        if asyncio.get_running_loop().time() < self._due_at:
            return
        async with self._lock:
            if asyncio.get_running_loop().time() >= self._due_at:
                await self._renew(anew=False)

    async def _renew(self, *, anew: bool) -> None:
        self._loads += 1
        self._due_at = asyncio.get_running_loop().time() + self._recheck_seconds
        try:
            configuration = await (self._credentials.load() if anew else self._credentials.renew())
            self._use(configuration)
        except CannotConnect as error:
            _LOG.warning("the old credentials stay in use: %s", error)
        except (OSError, ValueError):
            _LOG.warning("the old certificates stay in use: those of %s are malformed", configuration.host)

    def _use(self, configuration: Configuration) -> None:
        if trust_of(configuration) == self._transport.trust:
            self._transport.present(configuration)
            return
        # Open streams continue. New exchanges use the new trust.
        fresh = _Transport(configuration)
        self._retired.add(self._transport)
        self._transport = fresh

    async def _close_unused(self) -> None:
        for transport in [one for one in self._retired if not one.exchanges]:
            self._retired.discard(transport)
            await transport.close()


class _Transport:
    """kubernetes_asyncio's client with one TLS context. Its token can be replaced."""

    __slots__ = ("_client", "_session", "exchanges", "trust")

    def __init__(self, configuration: Configuration) -> None:
        self.trust = trust_of(configuration)
        self.exchanges = 0
        self._client = ApiClient(configuration)
        self._session = self._client.rest_client.pool_manager
        # Of its session the client calls only `request` and `close`.
        self._client.rest_client.pool_manager = cast(aiohttp.ClientSession, _PlainSession(self._session))
        self._client.user_agent = f"zonal-ingress/{version('zonal-ingress')}"
        # Decompressing a long list would block the event loop for longer than its bytes take in a cluster's network.
        self._client.set_default_header("Accept-Encoding", "identity")

    def present(self, configuration: Configuration) -> None:
        """Uses these credentials from the next exchange on."""
        self._client.configuration.api_key = configuration.api_key

    async def call(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str],
        headers: Mapping[str, str],
        body: bytes | None,
        timeouts: aiohttp.ClientTimeout,
    ) -> aiohttp.ClientResponse:
        """Sends one request. Raises `ApiError` if no head arrives."""
        with _translated_errors():
            response = await self._client.call_api(
                path,
                method,
                query_params=list(query.items()),
                header_params=dict(headers),
                # The client serialises bodies itself.
                body=None if body is None else msgspec.json.decode(body),
                auth_settings=[BEARER],
                _preload_content=False,
                _request_timeout=timeouts,
            )
        answer = cast(aiohttp.ClientResponse, response)
        _keep_alive(answer)
        return answer

    async def websocket(self, path: str, *, query: Mapping[str, str], protocol: str) -> aiohttp.ClientWebSocketResponse:
        """Opens a WebSocket. Raises aiohttp's errors if that fails."""
        headers = {"User-Agent": str(self._client.user_agent)}
        await self._client.update_params_for_auth(headers, [], [BEARER])
        rest = self._client.rest_client
        return await self._session.ws_connect(
            f"{self._client.configuration.host}{path}?{urlencode(query)}",
            protocols=(protocol,),
            headers=headers,
            proxy=rest.proxy,
            proxy_headers=rest.proxy_headers,
            server_hostname=rest.server_hostname,
        )

    async def close(self) -> None:
        await self._client.close()


class _PlainSession:
    """kubernetes_asyncio's session, which neither follows redirects nor decompresses.

    A redirect is an answer, because another server does not speak for the API server and must not get our writes. A
    content coding that nobody asked for stays encoded, because a megabyte of it may become a gigabyte.
    """

    __slots__ = ("_session",)

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session

    async def request(self, method: str, url: str, **options: object) -> aiohttp.ClientResponse:
        plain = {**options, "allow_redirects": False, "auto_decompress": False}
        return await self._session.request(method, url, **plain)  # type: ignore[arg-type]

    async def close(self) -> None:
        await self._session.close()


def _keep_alive(response: aiohttp.ClientResponse) -> None:
    # A short answer is complete by now and its connection is back in the pool. Only streams live long enough to matter.
    transport = response.connection.transport if response.connection else None
    peer = transport.get_extra_info("socket") if transport else None
    if peer is None:
        return
    with suppress(OSError):  # the connection may be gone, which reading will show
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in _KEEPALIVE:
            if hasattr(socket, name):  # macOS has other names
                peer.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def _cut(peer: TransportSocket | None) -> None:
    """Ends a WebSocket's connection now. TLS would wait for the API server, and aiohttp does not wait for TLS."""
    if peer is not None:
        with suppress(OSError):  # it may have ended already
            peer.shutdown(socket.SHUT_RDWR)


def _retry_after(response: aiohttp.ClientResponse) -> float | None:
    # The API server sends whole seconds. A date (RFC 9110 section 10.2.3) would compare two clocks.
    if response.status not in (429, 503):
        return None
    try:
        seconds = float(response.headers.get("Retry-After", ""))
    except ValueError:
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None


@contextmanager
def _translated_errors() -> Iterator[None]:
    try:
        yield
    except (aiohttp.ClientError, OSError, ValueError) as error:  # TimeoutError is an OSError
        raise ApiError(_problem(error)) from None


# From the specific to the general: the first that matches is used.
_PROBLEMS: Final[tuple[tuple[type[Exception], str], ...]] = (
    (aiohttp.ClientSSLError, "the API server is not trusted, or does not trust us"),
    (aiohttp.ClientPayloadError, "the answer was cut"),
    (TimeoutError, "no answer in time"),
    (aiohttp.ServerDisconnectedError, "the connection was closed before an answer"),
    (aiohttp.ClientResponseError, "the answer is not HTTP"),
)


def _problem(error: Exception) -> str:
    if isinstance(error, aiohttp.WSServerHandshakeError):
        return f"the answer to the WebSocket is HTTP {error.status}"
    for kind, problem in _PROBLEMS:
        if isinstance(error, kind):
            return problem + _verdict(error)
    if isinstance(error, OSError):
        # asyncio's own text would repeat the address. Name resolution has negative numbers and a text that explains
        # them.
        known = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror
        return (known or "the connection failed").lower()
    # Any other error is about the request, so its text may quote headers.
    return f"the request cannot be sent ({type(error).__name__})"


def _verdict(error: Exception) -> str:
    certificate_error = getattr(error, "certificate_error", None)
    return f": {certificate_error.verify_message}" if isinstance(certificate_error, SSLCertVerificationError) else ""
