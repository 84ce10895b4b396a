"""Carries messages to other replicas. TLS proves both sides.

A message goes through a WebSocket to each other replica. The first one and each fourth one after it is answered before
the next one is sent, so no more than that wait for one who does not read. What was sent before the stream ends may not
have come. Replicas of schema 1 know one POST for each message, so they are told in that way. Does not know what a
message means.
"""

from __future__ import annotations

import asyncio
import ssl
from contextlib import suppress
from http import HTTPStatus
from typing import Any, Final, NamedTuple

import aiohttp

from ingress.replicas.messages import MessageRefusal
from ingress.replicas.trust import PEER_NAME, ReplicaCredentials, identity_in

CONVERSE_PATH: Final = "/converse"
OLDER_PATH: Final = "/tell"
ZONE_FIELD: Final = "Zonal-Zone"
IDENTITY_FIELD: Final = "Zonal-Replica"
ANSWERED_EVERY: Final = 4  # messages

_TELL_SECONDS: Final = 2.0
_CLOSE_SECONDS: Final = 0.5
_ANSWER_BYTES_MOST: Final = 1024
_NO_SUCH_PATH: Final = frozenset((HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED))

# OpenSSL's number of a certificate whose time is over.
_HAS_EXPIRED: Final = 10


class Hearer(NamedTuple):
    """Who took a message: the zone of that replica, empty if unknown, and its identity."""

    zone: str
    identity: str


def refusal_of(failure: ssl.SSLError) -> MessageRefusal:
    """What a failed handshake means: a certificate whose time is over, another one or none, or no handshake at all."""
    if isinstance(failure, ssl.SSLCertVerificationError):
        return MessageRefusal.EXPIRED if failure.verify_code == _HAS_EXPIRED else MessageRefusal.STRANGER
    return MessageRefusal.STRANGER if failure.reason == "PEER_DID_NOT_RETURN_A_CERTIFICATE" else MessageRefusal.NOISE


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
                    f"https://{self._place}{CONVERSE_PATH}",
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
            is_expired = isinstance(cause, ssl.SSLError) and refusal_of(cause) is MessageRefusal.EXPIRED
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
        if self._sent % ANSWERED_EVERY != 1:
            return HTTPStatus.NO_CONTENT, self._heard
        status, _, zone = (await stream.receive_str()).partition(" ")
        return int(status), Hearer(zone, self._identity())

    async def _post(self, message: bytes) -> tuple[int, Hearer]:
        url = f"https://{self._place}{OLDER_PATH}"
        async with self._session.post(url, data=message, allow_redirects=False, **self._secured()) as heard:
            fields = heard.headers
            return heard.status, Hearer(fields.get(ZONE_FIELD, ""), fields.get(IDENTITY_FIELD, ""))

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
