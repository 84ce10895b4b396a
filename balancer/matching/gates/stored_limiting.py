"""Limits requests by counts that all replicas keep in one store, exactly. No I/O.

The store is asked before a request passes, within a time limit. While it is away, the replica counts as it does without
a store: by its own table, and by what other replicas tell.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from hashlib import blake2b
from typing import Protocol

from balancer.errors import ErrorKind
from balancer.matching.gates.limiting import LimitedClients, rate_zone
from balancer.matching.gates.verdicts import PASSED, About, Asked, Go, Reply, Resume, Waiting
from balancer.model.limits import RateLimit
from balancer.sharing.books import number_of
from balancer.sharing.counting import Counting
from balancer.sharing.rates import Schedule, schedule_of

_CLIENT_BYTES = 16


class LimitStore(Protocol):
    """Counts requests of a client at some rates, for everybody who asks it."""

    def ask(
        self, tenant: str, keys: Sequence[bytes], schedules: Sequence[Schedule], tell: Callable[[bool | None], None]
    ) -> Waiting | None:
        """Asks whether a request passes, which then counts at every rate; each has a key.

        `tell` is called later with the answer, None if there is none in time. Returns None if the store is away, or if
        `tenant`, a namespace, asks too much at one time.
        """


class StoredRateGate:
    """The gate of limit-rps and limit-rpm of one route, with the counts of a store."""

    __slots__ = ("_clients", "_denied", "_number", "_rule", "_schedules", "_store", "_tenant", "_zone")

    def __init__(self, rule: RateLimit, counting: Counting | None, store: LimitStore) -> None:
        self._rule = rule
        self._clients = LimitedClients(rule)
        self._zone = rate_zone(rule, counting) if counting is not None else None
        self._denied = Reply(rule.status, kind=ErrorKind.RATE_LIMITED)
        self._number = number_of(rule)
        self._schedules = tuple(map(schedule_of, rule.rates))
        self._store = store
        self._tenant = rule.zone.partition("/")[0]

    def describe(self) -> About:
        """How often a client may come."""
        told = (f"{each.requests} in {each.seconds} s with a burst of {each.burst}" for each in self._rule.rates)
        text = f"Limit: a client may send {' and '.join(told)}, counted in the store of limits."
        return About((f"{text} Here the request is taken to pass.",))

    def judge(self, asked: Asked, resume: Resume) -> Go | Reply | Waiting:
        """Waits for the answer of the store, which bounds its own time."""
        client = self._clients.key(asked)
        if not client:
            return PASSED
        named = f"zonal:{{{self._number:x}:{blake2b(client, digest_size=_CLIENT_BYTES).hexdigest()}}}:"
        keys = [f"{named}{place}".encode() for place in range(len(self._schedules))]
        waiting = self._store.ask(self._tenant, keys, self._schedules, partial(self._heard, client, resume))
        return self._alone(client) if waiting is None else waiting

    def _heard(self, client: bytes, resume: Resume, passes: bool | None) -> None:
        if passes is None:
            resume(self._alone(client))
        else:
            resume(PASSED if passes else self._denied)

    def _alone(self, client: bytes) -> Go | Reply:
        """What the replica says by itself."""
        zone = self._zone
        return PASSED if zone is not None and zone.may_pass(client) else self._denied
