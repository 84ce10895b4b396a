"""Reaches an endpoint for one relay: picks, connects, and goes elsewhere while the rules allow.

Nothing of the client was sent before an endpoint accepted, so every failure may be followed by another endpoint.
"""

from __future__ import annotations

import math
import time
from typing import Protocol

from balancer.connections.raw import RawOwner
from balancer.connections.raw_pools import RawPool, RawStream
from balancer.errors import AttemptError, ErrorKind, Sent
from balancer.http.streams import EndpointStream
from balancer.matching.relay_tables import RelayTarget
from balancer.picking import outcomes
from balancer.picking.backend import BackendRuntime
from balancer.picking.balancers import Picker
from balancer.picking.members import Member, Pick
from balancer.proxy import succession
from balancer.proxy.connecting import Connecting
from balancer.relays.accounts import RelayAccount
from balancer.relays.states import may_go_elsewhere
from balancer.relays.tools import RelayTools
from balancer.zones.evacuation import ZoneChange


class Traveller(RawOwner, Protocol):
    """A relay that waits for its endpoint. It is told once how that ends."""

    def reached(self, stream: RawStream) -> None:
        """An endpoint has accepted."""

    def unreached(self, kind: ErrorKind) -> None:
        """None has."""


class Reaching:
    """The way of one relay to an endpoint. `pick` is the last one. What it takes of bounds is given back by `leave`."""

    __slots__ = ("_account", "_began", "_is_retry", "_runtime", "_target", "_tools", "_traveller", "_tried", "pick")

    def __init__(
        self,
        traveller: Traveller,
        target: RelayTarget,
        runtime: BackendRuntime,
        account: RelayAccount,
        tools: RelayTools,
    ) -> None:
        self._traveller = traveller
        self._target = target
        self._runtime = runtime
        self._account = account
        self._tools = tools
        self._tried: tuple[Member, ...] = ()
        self._is_retry = False
        self._began = 0.0
        self.pick: Pick | None = None
        runtime.load.in_flight += 1
        runtime.budget.begin_request()

    def begin(self, now: float) -> None:
        """Tries the first endpoint. `now` is of `time.perf_counter`."""
        balancer = self._runtime.balancer(self._target.branch.zone_policy, now)
        pick = balancer.pick((), now)
        if pick is not None:
            return self._attempt(pick, now)
        self._account.refusal = balancer.refusal
        self._traveller.unreached(succession.why_none(balancer))

    def leave(self) -> None:
        """The relay is over."""
        self._runtime.load.in_flight -= 1
        if self.pick is not None:
            self.pick.member.in_flight -= 1
            self.pick = None
        self._end_retry()

    # What a connection on its way calls (`proxy.connecting.Waiter`).

    def seconds_left(self) -> float:
        return math.inf

    def connecting_ended(self, stream: EndpointStream | None, kind: ErrorKind) -> None:
        pick, now = self.pick, time.perf_counter()
        if pick is None:  # the relay is over meanwhile
            if stream is not None:
                stream.release()
            return
        error = None if stream is not None else AttemptError(kind, Sent.NOTHING)
        self._report(pick, error, now)
        if isinstance(stream, RawStream):
            self._account.connect_seconds = now - self._began
            self._end_retry()
            return self._traveller.reached(stream)
        following = self._pick_after(kind, now)
        if following is None:
            return self._traveller.unreached(kind)
        self._go_on(following, kind, now)

    def goes_elsewhere(self) -> bool:
        pick, now = self.pick, time.perf_counter()
        if pick is None:
            return True
        following = self._pick_after(ErrorKind.CONNECT_TIMEOUT, now)
        if following is None:
            return False
        self._runtime.left(pick, now, now - self._began, self._account)
        self._go_on(following, ErrorKind.CONNECT_TIMEOUT, now)
        return True

    def _attempt(self, pick: Pick, now: float) -> None:
        runtime, tools, member = self._runtime, self._tools, pick.member
        self.pick = pick
        self._account.pick = pick
        self._account.tried += member.label_alone
        self._tried += (member,)
        self._began = now
        member.in_flight += 1
        pool = RawPool(member, runtime.handshake, tools.pools, self._traveller)
        Connecting(self, pick, pool, runtime, tools.forwarder).begin(self._target.route.connect_seconds)

    def _go_on(self, following: Pick, kind: ErrorKind, now: float) -> None:
        """Begins another attempt after the one that failed with `kind`, or takes long."""
        forwarder, names = self._tools.forwarder, self._target.names
        assert self.pick is not None
        self.pick.member.in_flight -= 1
        self._end_retry()
        forwarder.recorder.retry(names.namespace, names.service, kind.value)
        self._runtime.budget.begin_retry(forwarder.reserve, now)
        self._is_retry = True
        self._attempt(following, now)

    def _end_retry(self) -> None:
        if self._is_retry:
            self._is_retry = False
            self._runtime.budget.end_retry()

    def _report(self, pick: Pick, error: AttemptError | None, now: float) -> None:
        """Tells the endpoint's health. The time to connect stands for that of an answer."""
        runtime, sight = self._runtime, self._tools.forwarder.sight
        outcome = outcomes.outcome_of(error, 200)
        change = runtime.report(pick, outcome, now, now - self._began, self._account)
        if isinstance(change, ZoneChange):
            sight.tell_zone(runtime, change, now)
        elif change is not None:
            sight.tell(runtime, pick.member, change, now, "" if error is None else error.kind.value)

    def _pick_after(self, kind: ErrorKind, now: float) -> Pick | None:
        """The next pick; None if route, budget or endpoints allow no other."""
        tries = self._target.route.tries
        if not may_go_elsewhere(kind, tried=len(self._tried), tries=tries):
            return None
        runtime = succession.present(self._tools.live.view, self._target.branch.backend, self._runtime)
        if runtime is None:
            return None
        if runtime is not self._runtime:
            self._runtime = runtime  # it has the same load and budget
        reserve = self._tools.forwarder.reserve
        if not runtime.budget.may_retry(runtime.load.in_flight, reserve, now, is_over=True):
            return None
        picker: Picker = runtime.balancer(self._target.branch.zone_policy, now)
        is_silent = kind is ErrorKind.CONNECT_TIMEOUT
        return succession.next_pick(picker, runtime, self._tried, now, is_silent, repeats=False)
