"""Hears messages of other replicas on a port, as `lines` carries them. TLS proves who speaks.

Of whoever may not speak nothing is read. Replicas of schema 1 send one POST for each message, and are heard in that way
as well. Does not know what a message means.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from itertools import count
from typing import Final, NamedTuple

import aiohttp
from aiohttp import web

from balancer.connections.listeners import listen, port_of
from ingress.admin.doors import HANG_UP, NOTE_ACTIVE, READ_NO_MORE, DoorRules, DoorTimes, open_doors
from ingress.replicas.allowances import Callers
from ingress.replicas.lines import ANSWERED_EVERY, CONVERSE_PATH, IDENTITY_FIELD, OLDER_PATH, ZONE_FIELD, refusal_of
from ingress.replicas.messages import MESSAGE_BYTES_MOST, MessageRefusal, MessageRefused
from ingress.replicas.trust import ReplicaCredentials, identity_in

_CONNECTIONS_MOST: Final = 128
_SILENT_SECONDS: Final = 30.0  # without a message, a connection ends
# Who ends a connection waits hardly for the last word of the other one: it may be a flood.
_TIMES: Final = DoorTimes(head_seconds=5.0, idle_seconds=_SILENT_SECONDS, linger_seconds=0.05)
# A whole message, and what the library reads ahead of it.
_UNHEARD_BYTES_MOST: Final = 2 * MESSAGE_BYTES_MOST
_CLOSE_SECONDS: Final = 0.5
_TOO_LONG: Final = bytes(MESSAGE_BYTES_MOST + 1)  # stands for a message whose end was not read

Hear = Callable[[str, bytes], str]
"""Takes a message of the replica with an identity, and returns the own zone for the answer. Raises `MessageRefused`."""


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
    app.router.add_get(CONVERSE_PATH, hearing.converse)
    app.router.add_post(OLDER_PATH, hearing.answer_older)
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
        on_failed_handshake=lambda failure: ears.refused(refusal_of(failure)),
    )
    return runner, opened_port


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
                if is_refused or number % ANSWERED_EVERY == 0:
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
        fields = {IDENTITY_FIELD: self._credentials.identity} | ({ZONE_FIELD: zone} if zone else {})
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
