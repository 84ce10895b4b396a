"""The relays of one worker: which connections become one, who is open, and whose route was taken away."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

from balancer.connections.arrivals import Arrival
from balancer.connections.configured_names import ConfiguredNames
from balancer.connections.greetings import Asking
from balancer.connections.raw import RawConnection
from balancer.errors import ErrorKind
from balancer.http.streams import Connection
from balancer.matching.relay_tables import UNROUTED, Choice, Reference, Relayed, reference_of
from balancer.model.entry_points import EntryPoint, Protocol
from balancer.picking.turns import RandomBelow
from balancer.relays.reaching import Reaching
from balancer.relays.relay import Relay
from balancer.relays.states import Fault
from balancer.relays.tools import RelayTools

Ended = Callable[[Connection], None]


class Relays:
    """Makes relays from the newest view, and holds those that are open."""

    __slots__ = ("_guests", "_names", "_random_below", "open", "tools")

    def __init__(self, tools: RelayTools, names: ConfiguredNames, random_below: RandomBelow) -> None:
        """`random_below` chooses among branches."""
        self.tools = tools
        self._names = names
        self._random_below = random_below
        self._guests: dict[Relay, Reference] = {}
        self.open: set[Relay] = set()

    # What the reception asks (`connections.greetings.RelayMaker`).

    def relays_at(self, entry_point: EntryPoint) -> bool:
        return entry_point.configuration in self.tools.live.view.relays.tables

    def choice(self, entry_point: EntryPoint, server_name: str | None) -> Choice:
        table = self.tools.live.view.relays.tables.get(entry_point.configuration)
        if table is None:
            return UNROUTED if entry_point.protocol in (Protocol.TLS, Protocol.TCP) else None
        return table.find(server_name)

    def names(self, entry_point: EntryPoint) -> Asking:
        return self._names.of_relays(entry_point)

    def make(self, arrival: Arrival, on_open: Callable[[Connection], None]) -> RawConnection:
        return Relay(arrival, self.tools, on_open).client

    # What the worker calls.

    def serve(self, relay: Relay, ended: Ended) -> None:
        """Begins to relay. Calls `ended` when nothing of the relay is left."""
        tools, entry_point, now = self.tools, relay.entry_point, time.perf_counter()
        self.open.add(relay)
        over = partial(self._over, relay, ended)
        view, account = tools.live.view, relay.account
        account.from_zone = view.zone
        choice = self.choice(entry_point, relay.arrival.server_name)
        # Between the ClientHello and the end of its handshake the route may have become another one.
        if not isinstance(choice, Relayed) or choice.route.ends_tls != relay.client.is_secure:
            return relay.refuse(Fault.NO_ROUTE, over)
        target = choice.choose(self._random_below)
        account.target = target
        backend = target.branch.backend
        runtime = view.backends.get(backend) if backend is not None else None
        if runtime is None:
            return relay.refuse(target.branch.error, over)
        if runtime.is_full:
            return relay.refuse(ErrorKind.OVERLOADED, over)
        if (reference := reference_of(target.branch)) is not None:
            self._guests[relay] = reference
        relay.begin(Reaching(relay, target, runtime, account, tools), over, now)

    def follow(self) -> None:
        """A view has come: relays end whose reference to another namespace may not be followed any more."""
        if not self._guests:
            return
        carried = self.tools.live.view.relays.carried
        for relay in [each for each, reference in self._guests.items() if reference not in carried]:
            relay.cut(Fault.REVOKED)

    def _over(self, relay: Relay, ended: Ended) -> None:
        self.open.discard(relay)
        self._guests.pop(relay, None)
        ended(relay)
