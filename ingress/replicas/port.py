"""Carries messages between replicas: a port that hears others, and a client that tells others. TLS proves both sides.

A message goes through a WebSocket to each other replica. The first one and each fourth one after it is answered before
the next one is sent, so no more than that wait for one who does not read. What was sent before the stream ends may not
have come. Replicas of schema 1 know one POST for each message, so they are heard and told in that way. Does not know
what a message means.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from itertools import count
from typing import Any, Final, NamedTuple

import aiohttp
from aiohttp import web

from balancer.connections.listeners import listen, port_of
from ingress.admin.doors import HANG_UP, NOTE_ACTIVE, READ_NO_MORE, DoorRules, DoorTimes, open_doors
from ingress.replicas.allowances import Callers
from ingress.replicas.messages import MESSAGE_BYTES_MOST, MessageRefusal, MessageRefused
from ingress.replicas.trust import PEER_NAME, ReplicaCredentials, identity_in

_CONNECTIONS_MOST: Final = 128
_SILENT_SECONDS: Final = 30.0  # without a message, a connection ends
# Who ends a connection waits hardly for the last word of the other one: it may be a flood.
_TIMES: Final = DoorTimes(head_seconds=5.0, idle_seconds=_SILENT_SECONDS, linger_seconds=0.05)
# A whole message, and what the library reads ahead of it.
_UNHEARD_BYTES_MOST: Final = 2 * MESSAGE_BYTES_MOST
_TELL_SECONDS: Final = 2.0
_CLOSE_SECONDS: Final = 0.5
_ANSWER_BYTES_MOST: Final = 1024
_ANSWERED_EVERY: Final = 4  # messages
_PATH: Final = "/converse"
_OLDER_PATH: Final = "/tell"
_ZONE_FIELD: Final = "Zonal-Zone"
_IDENTITY_FIELD: Final = "Zonal-Replica"
_TOO_LONG: Final = bytes(MESSAGE_BYTES_MOST + 1)  # stands for a message whose end was not read
_NO_SUCH_PATH: Final = frozenset((HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED))

# OpenSSL's number of a certificate whose time is over.
_HAS_EXPIRED: Final = 10

Hear = Callable[[str, bytes], str]
"""Takes a message of the replica with an identity, and returns the own zone for the answer. Raises `MessageRefused`."""


class Hearer(NamedTuple):
    """Who took a message: the zone of that replica, empty if unknown, and its identity."""

    zone: str
    identity: str


Admit = Callable[[str], None]
"""Raises `MessageRefused` if nothing of the replica with an identity is read now."""

Refused = Callable[[MessageRefusal], None]
"""Told why a connection was refused."""


class Ears(NamedTuple):
    """Who hears others: `admit` is asked before a message of a replica is read, and then `hear`. `refused` is told why
    a connection was refused.
    """

    hear: Hear
    admit: Admit = lambda _: None
    refused: Refused = lambda _: None


async def open_port(
    address: str,
    port: int,
    *,
    credentials: ReplicaCredentials,
    ears: Ears,
    connections: int = _CONNECTIONS_MOST,
) -> tuple[web.AppRunner, int]:
    """Hears other replicas on a port, over so many connections at most.

    Returns what `cleanup()` stops, and the port. Raises `CannotListen`.
    """
    app, hearing = web.Application(), _Hearing(ears, credentials)
    app.router.add_get(_PATH, hearing.converse)
    app.router.add_post(_OLDER_PATH, hearing.answer_older)
    app.router.add_route("*", "/{path:.*}", hearing.send_away)
    app.on_shutdown.append(hearing.end)
    listener = listen(address, port, purpose="peer")
    opened_port = port_of(listener)
    runner = await open_doors(
        app,
        listener,
        bound=connections,
        tls=credentials.server,
        times=_TIMES,
        rules=DoorRules(hearing.admits, _UNHEARD_BYTES_MOST, hearing.floods),
        on_failed_handshake=lambda failure: ears.refused(_refusal_of(failure)),
    )
    return runner, opened_port


def _refusal_of(failure: ssl.SSLError) -> MessageRefusal:
    """What a failed handshake means: a certificate whose time is over, another one or none, or no handshake at all."""
    if isinstance(failure, ssl.SSLCertVerificationError):
        return MessageRefusal.EXPIRED if failure.verify_code == _HAS_EXPIRED else MessageRefusal.STRANGER
    return MessageRefusal.STRANGER if failure.reason == "PEER_DID_NOT_RETURN_A_CERTIFICATE" else MessageRefusal.NOISE


class _Hearing:
    def __init__(self, ears: Ears, credentials: ReplicaCredentials) -> None:
        self._ears = ears
        self._credentials = credentials
        self._callers = Callers()
        self._streams: set[asyncio.Transport] = set()

    def admits(self, address: str) -> bool:
        """Whether a connection of an address is opened."""
        may_call = self._callers.may_call(address, time.monotonic())
        if not may_call:
            self._ears.refused(MessageRefusal.TOO_OFTEN)
        return may_call

    def floods(self, transport: asyncio.BaseTransport) -> None:
        """Somebody sends without an end what is no message."""
        with suppress(MessageRefused):
            self._ears.hear(identity_in(transport.get_extra_info("peercert")), _TOO_LONG)

    async def end(self, _app: web.Application) -> None:
        """Ends all streams at once: the library would wait for them."""
        for transport in self._streams:
            transport.abort()

    async def converse(self, request: web.Request) -> web.StreamResponse:
        """Answers messages with the status of `_answer`, a space and the own zone. A refusal ends the stream."""
        transport, identity = request.transport, _identity_behind(request)
        if transport is None:  # it has gone already
            return web.Response(status=HTTPStatus.BAD_REQUEST)
        status = self._status_before(identity)
        if status is not HTTPStatus.NO_CONTENT:
            return await _sent_away(request, status)
        self._streams.add(transport)
        try:
            return await self._conversed(request, identity)
        finally:
            self._streams.discard(transport)

    async def _conversed(self, request: web.Request, identity: str) -> web.StreamResponse:
        stream = web.WebSocketResponse(
            timeout=_CLOSE_SECONDS,
            receive_timeout=_SILENT_SECONDS,
            autoping=False,
            compress=False,
            max_msg_size=MESSAGE_BYTES_MOST + 1,
        )
        try:
            await stream.prepare(request)
        except ConnectionError:  # it has gone already; a stream without a head would fill the log
            return web.Response(status=HTTPStatus.BAD_REQUEST)
        with suppress(ConnectionError):  # the other one has gone
            for number in count():
                message = await _next_message(stream)
                if message is None:
                    break
                request[NOTE_ACTIVE]()
                status, zone = self._answer(identity, message)
                is_refused = status is not HTTPStatus.NO_CONTENT
                if is_refused:
                    request[READ_NO_MORE]()
                if is_refused or number % _ANSWERED_EVERY == 0:
                    await stream.send_str(f"{status.value} {zone}")
                if is_refused:
                    break
            request[READ_NO_MORE]()
            await stream.close()
        request[HANG_UP]()
        return stream

    async def answer_older(self, request: web.Request) -> web.StreamResponse:
        """Answers a message of a replica of schema 1."""
        identity = _identity_behind(request)
        status = self._status_before(identity)
        if status is not HTTPStatus.NO_CONTENT:
            return await _sent_away(request, status)
        message = await _beginning(request.content)
        status, zone = self._answer(identity, message)
        if len(message) > MESSAGE_BYTES_MOST:
            return await _sent_away(request, status)
        if status is not HTTPStatus.NO_CONTENT:
            return web.Response(status=status)
        fields = {_IDENTITY_FIELD: self._credentials.identity} | ({_ZONE_FIELD: zone} if zone else {})
        return web.Response(status=status, headers=fields)

    async def send_away(self, request: web.Request) -> web.StreamResponse:
        """Answers whoever asks for something else."""
        self._ears.refused(MessageRefusal.NOISE)
        return await _sent_away(request, HTTPStatus.NOT_FOUND)

    def _status_before(self, identity: str) -> HTTPStatus:
        """204 if messages of a replica are read, else what `_answer` would say."""
        believed = self._credentials.believed
        if not identity or (believed is not None and identity not in believed):
            return HTTPStatus.FORBIDDEN
        try:
            self._ears.admit(identity)
        except MessageRefused:
            return HTTPStatus.BAD_REQUEST
        return HTTPStatus.NO_CONTENT

    def _answer(self, identity: str, message: bytes) -> tuple[HTTPStatus, str]:
        """204 and the own zone for a message that counts, 409 for one of this replica itself, else 400; 403 for one who
        is believed no longer.
        """
        believed = self._credentials.believed
        if believed is not None and identity not in believed:
            return HTTPStatus.FORBIDDEN, ""
        try:
            return HTTPStatus.NO_CONTENT, self._ears.hear(identity, message)
        except MessageRefused as refused:
            is_own = refused.refusal is MessageRefusal.OWN
            return HTTPStatus.CONFLICT if is_own else HTTPStatus.BAD_REQUEST, ""


async def _sent_away(request: web.Request, status: HTTPStatus) -> web.StreamResponse:
    """Answers without reading what came with the request, and ends the connection."""
    request[READ_NO_MORE]()
    response = web.Response(status=status)
    response.force_close()
    with suppress(ConnectionError):
        await response.prepare(request)
        await response.write_eof()
        await asyncio.sleep(_CLOSE_SECONDS)  # so that the answer is read
    request[HANG_UP]()
    return response


def _identity_behind(request: web.Request) -> str:
    shown = request.transport.get_extra_info("peercert") if request.transport is not None else None
    return identity_in(shown)


async def _next_message(stream: web.WebSocketResponse) -> bytes | None:
    """`_TOO_LONG` for what is beyond the bound; None: nothing comes any more.

    No replica pings, so a ping is the end: nothing would bound what the answers to them cost.
    """
    try:
        message = await stream.receive()
    except TimeoutError:
        return None
    if message.type is aiohttp.WSMsgType.BINARY:
        data: bytes = message.data
        return data
    problem = message.data
    is_too_long = isinstance(problem, aiohttp.WebSocketError) and problem.code == aiohttp.WSCloseCode.MESSAGE_TOO_BIG
    return _TOO_LONG if is_too_long else None


async def _beginning(content: aiohttp.StreamReader) -> bytes:
    """A message as a whole, or so much of it that its length is seen."""
    body = bytearray()
    async for data in content.iter_any():
        body += data
        if len(body) > MESSAGE_BYTES_MOST:
            break
    return bytes(body)


class NotHeard(Exception):
    """Raised if another replica did not take a message. `is_own`: the address is that of this replica. `is_expired`:
    who is there shows a certificate whose time is over.
    """

    def __init__(self, message: str, *, is_own: bool = False, is_expired: bool = False) -> None:
        super().__init__(message)
        self.is_own = is_own
        self.is_expired = is_expired


class Line:
    """The connection to one other replica at a place. `is_older`: it knows schema 1 only."""

    __slots__ = ("_credentials", "_heard", "_place", "_sent", "_session", "_stream", "is_older")

    def __init__(self, session: aiohttp.ClientSession, credentials: ReplicaCredentials, place: str) -> None:
        self._session = session
        self._credentials = credentials
        self._place = place
        self._stream: aiohttp.ClientWebSocketResponse | None = None
        self._sent = 0  # messages over the stream
        self._heard = Hearer("", "")
        self.is_older = False

    async def open(self) -> None:
        """Must be called before each message. Raises `NotHeard`."""
        if self.is_older or (self._stream is not None and not self._stream.closed and self._is_believed()):
            return
        await self.close()
        self._sent = 0
        self._heard = Hearer("", "")
        try:
            async with asyncio.timeout(_TELL_SECONDS):
                self._stream = await self._session.ws_connect(
                    f"https://{self._place}{_PATH}",
                    timeout=aiohttp.ClientWSTimeout(ws_close=_CLOSE_SECONDS),
                    autoping=False,
                    max_msg_size=_ANSWER_BYTES_MOST,
                    **self._secured(),
                )
        except aiohttp.WSServerHandshakeError as error:
            if error.status not in _NO_SUCH_PATH:
                raise NotHeard(str(error)) from None
            self.is_older = True
        except aiohttp.ClientConnectorCertificateError as error:
            cause = error.certificate_error
            is_expired = isinstance(cause, ssl.SSLError) and _refusal_of(cause) is MessageRefusal.EXPIRED
            raise NotHeard(str(error), is_expired=is_expired) from None
        except _TROUBLE as error:
            raise NotHeard(str(error) or type(error).__name__) from None

    async def tell(self, message: bytes) -> Hearer:
        """Sends a message. Returns who took it, or the last one that was answered. Raises `NotHeard`: those before may
        not have come either.
        """
        try:
            async with asyncio.timeout(_TELL_SECONDS):
                stream = self._stream
                status, heard = await (self._post(message) if stream is None else self._send(stream, message))
        except _TROUBLE as error:
            self.is_older = False  # another one may be there the next time
            await self.close()
            raise NotHeard(str(error) or type(error).__name__) from None
        if status != HTTPStatus.NO_CONTENT:
            await self.close()
            raise NotHeard(f"answered {status}", is_own=status == HTTPStatus.CONFLICT)
        self.is_older = self.is_older and self._heard.identity in ("", heard.identity)  # another one may have come
        self._heard = heard
        return heard

    async def close(self) -> None:
        """Ends the connection."""
        stream = self._stream
        self._stream = None
        if stream is not None:
            with suppress(TimeoutError):  # one that reads nothing any more
                async with asyncio.timeout(_CLOSE_SECONDS):
                    await stream.close()

    async def _send(self, stream: aiohttp.ClientWebSocketResponse, message: bytes) -> tuple[int, Hearer]:
        await stream.send_bytes(message)
        self._sent += 1
        if self._sent % _ANSWERED_EVERY != 1:
            return HTTPStatus.NO_CONTENT, self._heard
        status, _, zone = (await stream.receive_str()).partition(" ")
        return int(status), Hearer(zone, self._identity())

    async def _post(self, message: bytes) -> tuple[int, Hearer]:
        url = f"https://{self._place}{_OLDER_PATH}"
        async with self._session.post(url, data=message, allow_redirects=False, **self._secured()) as heard:
            fields = heard.headers
            return heard.status, Hearer(fields.get(_ZONE_FIELD, ""), fields.get(_IDENTITY_FIELD, ""))

    def _identity(self) -> str:
        return identity_in(self._stream.get_extra_info("peercert")) if self._stream is not None else ""

    def _is_believed(self) -> bool:
        believed = self._credentials.believed
        return believed is None or self._identity() in believed

    def _secured(self) -> dict[str, Any]:
        return {"ssl": self._credentials.client, "server_hostname": PEER_NAME}


_TROUBLE: Final = (TimeoutError, aiohttp.ClientError, TypeError, OSError, ValueError)
"""What a connection raises that has ended, or that somebody else has answered."""


class Teller:
    """Makes lines to other replicas."""

    def __init__(self, credentials: ReplicaCredentials) -> None:
        self._credentials = credentials
        connector = aiohttp.TCPConnector(limit_per_host=1)
        timeout = aiohttp.ClientTimeout(total=None)  # lines bound their time themselves
        self._session = aiohttp.ClientSession(connector=connector, timeout=timeout, trust_env=False)

    def line(self, place: str) -> Line:
        """A line to `place` (`HOST:PORT`), which is not open yet."""
        return Line(self._session, self._credentials, place)

    async def close(self) -> None:
        """Closes all connections."""
        await self._session.close()
