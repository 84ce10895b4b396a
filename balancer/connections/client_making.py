"""Makes the protocol of a client's connection once it is known what the client speaks."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import cache, partial
from typing import Protocol

from balancer.connections.arrivals import Arrival
from balancer.http.current import CurrentSettings
from balancer.http.streams import Connection
from balancer.http1.client_context import ClientContext
from balancer.http1.connection import ClientConnection
from balancer.http2.client import Http2Connection
from balancer.http2.engines import shortfall
from balancer.http2.flushing import Flusher
from balancer.http2.intake import FaultTally
from balancer.model.entry_points import EntryPoint
from balancer.runtime.deadlines import Deadlines

_LOG = logging.getLogger(__name__)


class KnownNames(Protocol):
    """What is known of the names at an entry point for HTTPS."""

    @property
    def is_divided(self) -> bool:
        """Whether a name decides which listener serves the requests of a connection."""

    def share_certificate(self, server_name: str, host: str) -> bool:
        """Whether a handshake for `server_name` shows the certificate that one for `host` would show."""


class ClientMaker:
    """Makes the connections of HTTP/1 and HTTP/2 of one worker.

    `settings` are read anew for each connection. `names` knows the handshakes of an entry point for HTTPS. `flusher` is
    for connections in HTTP/2, and `tally` counts what goes wrong on them.
    """

    __slots__ = ("_context", "_deadlines", "_flusher", "_names", "_settings", "_tally")

    def __init__(
        self,
        *,
        settings: CurrentSettings,
        deadlines: Deadlines,
        names: Callable[[EntryPoint], KnownNames],
        flusher: Flusher,
        tally: FaultTally,
    ) -> None:
        self._settings = settings
        self._deadlines = deadlines
        self._names = names
        self._flusher = flusher
        self._tally = tally
        self._context = ClientContext(settings, deadlines, flusher.unread)

    def make(
        self, arrival: Arrival, http2: bool, on_open: Callable[[Connection], None]
    ) -> ClientConnection | Http2Connection:
        """The protocol of a connection that is ready for requests. `on_open` gets it once it has a transport."""
        if not http2:
            return ClientConnection(self._context, arrival, self._deciding_name(arrival), on_open)
        tell_shortfall()
        serves = None
        name, entry_point = self._deciding_name(arrival), arrival.entry_point
        if arrival.server_name and name is None:
            serves = partial(self._names(entry_point).share_certificate, arrival.server_name)
        return Http2Connection(
            settings=self._settings,
            deadlines=self._deadlines,
            flusher=self._flusher,
            entry_point=entry_point,
            on_open=on_open,
            tally=self._tally,
            serves=serves,
            peer=arrival.peer,
            port=arrival.port,
            server_name=name,
        )

    def _deciding_name(self, arrival: Arrival) -> str | None:
        """The name of a handshake that decided which listener the connection belongs to; None if none had to."""
        entry_point = arrival.entry_point
        if not entry_point.is_secure or not self._names(entry_point).is_divided:
            return None
        return arrival.server_name or ""


@cache
def tell_shortfall() -> None:
    """Tells the log, once, why HTTP/2 has a slower engine than this build is made for. Imports the engine."""
    if lacking := shortfall():
        _LOG.warning("HTTP/2 takes more CPU than it has to: %s", lacking)
