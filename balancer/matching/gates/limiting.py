"""Limits requests by their client: how often they come, and how many are in flight. No I/O.

The counts are those of all workers of the replica. Without a counter, every request is refused.
"""

from __future__ import annotations

from functools import partial

from balancer.errors import ErrorKind
from balancer.matching.addresses import address_of, compile_networks
from balancer.matching.clients import client_key
from balancer.matching.gates.verdicts import PASSED, About, Asked, Go, Reply, Resume
from balancer.matching.variables import compile_text
from balancer.model.limits import FlightLimit, LimitScope, RateLimit
from balancer.sharing.books import number_of
from balancer.sharing.counting import Counting, FleetRateZone, RateZone

_NOTHING: frozenset[bytes] = frozenset()


class LimitedClients:
    """The clients of a limit: what stands for the client of a request, and who is not limited."""

    __slots__ = ("_exempt", "_text")

    def __init__(self, rule: RateLimit | FlightLimit) -> None:
        self._exempt = compile_networks(rule.exempt) if rule.exempt else None
        self._text = compile_text(rule.key) if rule.key else None

    def key(self, asked: Asked) -> bytes:
        """The key under which the request is counted; empty if the client is not limited."""
        peer = asked.origin.peer
        address = address_of(peer)
        if self._exempt is not None and address is not None and address in self._exempt:
            return b""
        if self._text is not None:
            return self._text(asked.request, peer)
        return client_key(address) if address is not None else peer.encode() or b"?"


class RateGate:
    """The gate of limit-rps and limit-rpm of one route."""

    __slots__ = ("_clients", "_denied", "_rule", "_zone")

    def __init__(self, rule: RateLimit, counting: Counting | None) -> None:
        self._rule = rule
        self._clients = LimitedClients(rule)
        self._zone = rate_zone(rule, counting) if counting is not None else None
        self._denied = Reply(rule.status, kind=ErrorKind.RATE_LIMITED)

    def describe(self) -> About:
        """How often a client may come."""
        told = (f"{each.requests} in {each.seconds} s with a burst of {each.burst}" for each in self._rule.rates)
        rates = " and ".join(told)
        whose = " at all replicas together" if self._rule.scope is LimitScope.FLEET else ""
        return About((f"Limit: a client may send {rates}{whose}. Here the request is taken to pass.",))

    def judge(self, asked: Asked, resume: Resume) -> Go | Reply:
        """The verdict, always at once. A request that passes counts."""
        if self._zone is None:
            return self._denied
        key = self._clients.key(asked)
        return PASSED if not key or self._zone.may_pass(key) else self._denied


def rate_zone(rule: RateLimit, counting: Counting) -> RateZone | FleetRateZone:
    """The counts of a limit: of the replica, or with what other replicas tell."""
    if rule.scope is LimitScope.FLEET:
        return counting.fleet_rates(rule.zone, rule.rates, number=number_of(rule))
    return counting.rates(rule.zone, rule.rates)


class FlightGate:
    """The gate of limit-connections of one route."""

    __slots__ = ("_clients", "_denied", "_rule", "_zone")

    def __init__(self, rule: FlightLimit, counting: Counting | None) -> None:
        self._rule = rule
        self._clients = LimitedClients(rule)
        self._zone = counting.flights(rule.zone, rule.most) if counting is not None else None
        self._denied = Reply(rule.status, kind=ErrorKind.CONNECTIONS_LIMITED)

    def describe(self) -> About:
        """How many requests a client may have in flight."""
        most = self._rule.most
        return About((f"Limit: a client may have {most} requests in flight. Here the request is taken to pass.",))

    def judge(self, asked: Asked, resume: Resume) -> Go | Reply:
        """The verdict, always at once. A request that passes counts until it is over."""
        if (zone := self._zone) is None:
            return self._denied
        key = self._clients.key(asked)
        if not key:
            return PASSED
        place = zone.enter(key)
        return self._denied if place is None else Go((), _NOTHING, (), partial(zone.leave, place))
