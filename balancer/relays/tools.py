"""Holds what the relays of one worker use together."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from balancer.connections.kept import KeptConnections
from balancer.live import LiveTable
from balancer.matching.logged import LoggedRequests
from balancer.model.endpoints import BackendKey
from balancer.picking.backend import BackendRuntime
from balancer.proxy.forwarder import Forwarder
from balancer.relays.accounts import RelayAccounting
from balancer.relays.room import UnreadRoom
from balancer.runtime.deadlines import Deadlines


class RelayTools:
    """The view in use, who connects, who counts, and what bounds relays."""

    __slots__ = ("_loop", "accounting", "deadlines", "forwarder", "live", "pools", "room")

    def __init__(
        self,
        *,
        live: LiveTable,
        forwarder: Forwarder,
        pools: KeptConnections,
        accounting: RelayAccounting,
        deadlines: Deadlines,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self.live = live
        self.forwarder = forwarder
        self.pools = pools
        self.accounting = accounting
        self.deadlines = deadlines
        self.room = UnreadRoom()

    def now(self) -> float:
        """The time of the loop, in seconds."""
        return self._loop.time()

    def idle_seconds(self) -> float:
        """How long nothing may pass on a relay."""
        return self.live.settings.proxy.stream_idle_seconds

    def backends(self) -> Mapping[BackendKey, BackendRuntime]:
        """The backends of the view in use."""
        return self.live.view.backends

    def logged(self) -> LoggedRequests | None:
        """Which relays have a line; None: all."""
        return self.live.view.logged
