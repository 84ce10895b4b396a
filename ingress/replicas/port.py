"""Carries messages between replicas: a port that hears others, and a client that tells others. TLS proves both sides.

Does not know what a message means.
"""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import Final, NamedTuple

import aiohttp
from aiohttp import web

from balancer.connections.listeners import listen, port_of
from ingress.admin.doors import DoorTimes, open_doors
from ingress.replicas.messages import MESSAGE_BYTES_MOST, MessageRefusal, MessageRefused
from ingress.replicas.trust import PEER_NAME, ReplicaCredentials, identity_in

_CONNECTIONS_MOST: Final = 128
_TIMES: Final = DoorTimes(head_seconds=5.0, idle_seconds=30.0)
_TELL_SECONDS: Final = 2.0
_PATH: Final = "/tell"
_ZONE_FIELD: Final = "Zonal-Zone"
_IDENTITY_FIELD: Final = "Zonal-Replica"

Hear = Callable[[str, bytes], str]
"""Takes a message of the replica with an identity, and returns the own zone for the answer. Raises `MessageRefused`."""


class Hearer(NamedTuple):
    """Who took a message: the zone of that replica, empty if unknown, and its identity."""

    zone: str
    identity: str


async def open_port(
    address: str, port: int, *, credentials: ReplicaCredentials, hear: Hear
) -> tuple[web.AppRunner, int]:
    """Hears other replicas on a port. Returns what `cleanup()` stops, and the port. Raises `CannotListen`."""
    app = web.Application()
    app.router.add_post(_PATH, _Hearing(hear, credentials).answer)
    listener = listen(address, port, purpose="peer")
    bound = port_of(listener)
    return await open_doors(app, listener, bound=_CONNECTIONS_MOST, tls=credentials.server, times=_TIMES), bound


class _Hearing:
    def __init__(self, hear: Hear, credentials: ReplicaCredentials) -> None:
        self._hear = hear
        self._credentials = credentials

    async def answer(self, request: web.Request) -> web.Response:
        """204 for a message that counts, 409 for one of this replica itself, else 400; 403 for one who is believed no
        longer.
        """
        shown = request.transport.get_extra_info("peercert") if request.transport is not None else None
        identity, believed = identity_in(shown), self._credentials.believed
        if believed is not None and identity not in believed:
            return web.Response(status=HTTPStatus.FORBIDDEN)
        body = await _beginning(request.content)
        try:
            zone = self._hear(identity, body)
        except MessageRefused as refused:
            status = HTTPStatus.CONFLICT if refused.refusal is MessageRefusal.OWN else HTTPStatus.BAD_REQUEST
            return web.Response(status=status)
        fields = {_IDENTITY_FIELD: self._credentials.identity} | ({_ZONE_FIELD: zone} if zone else {})
        return web.Response(status=HTTPStatus.NO_CONTENT, headers=fields)


async def _beginning(content: aiohttp.StreamReader) -> bytes:
    """A message as a whole, or so much of it that its length is seen."""
    body = bytearray()
    async for data in content.iter_any():
        body += data
        if len(body) > MESSAGE_BYTES_MOST:
            break
    return bytes(body)


class NotHeard(Exception):
    """Raised if another replica did not take a message. `is_own`: the address is that of this replica."""

    def __init__(self, message: str, *, is_own: bool = False) -> None:
        super().__init__(message)
        self.is_own = is_own


class Teller:
    """Sends messages to other replicas, over one connection to each."""

    def __init__(self, credentials: ReplicaCredentials) -> None:
        self._credentials = credentials
        connector = aiohttp.TCPConnector(limit_per_host=1)
        self._session = aiohttp.ClientSession(
            connector=connector, timeout=aiohttp.ClientTimeout(total=_TELL_SECONDS), trust_env=False
        )

    async def tell(self, place: str, message: bytes) -> Hearer:
        """Sends a message to `place` (`HOST:PORT`). Returns who took it. Raises `NotHeard`."""
        try:
            url = f"https://{place}{_PATH}"
            async with self._session.post(
                url,
                data=message,
                ssl=self._credentials.client,
                server_hostname=PEER_NAME,
                allow_redirects=False,
            ) as heard:
                if heard.status != HTTPStatus.NO_CONTENT:
                    is_own = heard.status == HTTPStatus.CONFLICT
                    raise NotHeard(f"answered {heard.status}", is_own=is_own)
                return Hearer(heard.headers.get(_ZONE_FIELD, ""), heard.headers.get(_IDENTITY_FIELD, ""))
        except (TimeoutError, aiohttp.ClientError, OSError, ValueError) as error:
            raise NotHeard(str(error) or type(error).__name__) from None

    async def close(self) -> None:
        """Closes all connections."""
        await self._session.close()
