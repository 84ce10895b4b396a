"""Gives each connection of a worker that is ready for requests to whoever serves it."""

from __future__ import annotations

from balancer.http.streams import Connection
from balancer.live import LiveTable
from balancer.proxy.serving import Proxy
from balancer.relays.relay import Relay
from balancer.relays.relays import Relays
from balancer.workers.clients import Clients


class HandingOver:
    """`live` says which entry points there are, and `clients` keeps the connections until they have ended.

    While `is_draining`, a connection is told at once to send no further request.
    """

    __slots__ = ("_has_ended", "_keeper", "_live", "_proxy", "_relays", "is_draining")

    def __init__(self, live: LiveTable, clients: Clients, proxy: Proxy, relays: Relays) -> None:
        self._live = live
        self._keeper = clients
        self._has_ended = clients.has_ended
        self._proxy = proxy
        self._relays = relays
        self.is_draining = False

    def take(self, client: Connection) -> None:
        """Serves a connection from now on."""
        if client.entry_point.key not in self._live.view.configurations:
            client.abort()  # its entry point has gone while it shook hands
        if self.is_draining:
            client.end_soon()
        clients = self._keeper
        clients.enter(client)
        if isinstance(client, Relay):
            relays = self._relays
            relays.serve(client, self._has_ended)
        else:
            proxy = self._proxy
            proxy.serve(client, self._has_ended)
