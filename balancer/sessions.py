"""Chooses the endpoint that a client or a hash is held to, before zones have a say, and asks the balancer otherwise.

Responsible for one request and its retries on a branch with affinity or `upstream-hash-by`. The choice is made over all
ready endpoints, whatever their zones, so that every replica in every zone makes the same one. It must not know cookies'
text beyond their key; time and fresh keys come in as arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import NamedTuple

import msgspec

from balancer.backend import BackendRuntime
from balancer.balancers import Balancer
from balancer.canary import Branch
from balancer.http1.heads import RequestHead
from balancer.members import Foretold, Member, Pick, label_of
from balancer.ring import ring_of
from balancer.zones.reasons import Reason
from balancer.zones.split import Pools

# A new client gets a key that leads where the balancer would send it. With twelve endpoints 64 draws find one in 99.6 %
# of cases at some 1.5 microseconds each; otherwise any endpoint of the pool will do.
_DRAWS = 64
# Pools are few for a backend as it is; this only bounds what annotations that come and go could leave behind.
_POOLS_MAX = 64


class _Labels(NamedTuple):
    """Who is in pools, by label. `pools` are held on to, so that no others take their identity."""

    pools: Pools
    serving: frozenset[str]
    drained: frozenset[str]


class Standing:
    """What has been worked out for one branch and one state of its backend."""

    __slots__ = ("_endpoints", "_labels_of", "_picks", "label_by_key", "ring", "runtime")

    def __init__(self, branch: Branch, runtime: BackendRuntime) -> None:
        self.runtime = runtime
        every = runtime.backend.endpoints
        usable = [each for each in every if each.ready] or [each for each in every if each.serving_terminating]
        self._endpoints = {label_of(endpoint): endpoint for endpoint in usable}
        self.ring = ring_of(tuple(sorted(self._endpoints)))
        stickiness = branch.stickiness
        self.label_by_key: dict[bytes, str] = {}
        if stickiness is not None and stickiness.settings.persistent:
            self.label_by_key = {stickiness.persistent_key(label): label for label in self._endpoints}
        self._picks: dict[tuple[str, Reason], Pick] = {}
        self._labels_of: dict[int, _Labels] = {}

    def is_in(self, pools: Pools, label: str) -> bool:
        """Whether the zone policy itself could have chosen the endpoint."""
        return label in self._labels(pools).serving

    def is_drained(self, pools: Pools, label: str) -> bool:
        """Whether the operator wants the endpoint to be left while there are others."""
        return label in self._labels(pools).drained

    def reason(self, label: str, pools: Pools) -> Reason:
        """The policy's reason for an endpoint that serves in these pools; for another only affinity is one."""
        return pools.reason if self.is_in(pools, label) else Reason.AFFINITY_OVERRIDE

    def pick(self, label: str, pools: Pools) -> Pick:
        """The pick of an endpoint, with the policy's reason if it is in the pool that serves."""
        reason = self.reason(label, pools)
        pick = self._picks.get((label, reason))
        if pick is None:
            pick = self._picks[label, reason] = self.runtime.pick(self._endpoints[label], reason)
        return pick

    def _labels(self, pools: Pools) -> _Labels:
        known = self._labels_of.get(id(pools))
        if known is None:
            if len(self._labels_of) >= _POOLS_MAX:
                self._labels_of.clear()
            serving = pools.zonal if pools.zonal_mode else pools.general
            known = _Labels(pools, frozenset(map(label_of, serving)), frozenset(map(label_of, pools.drained)))
            self._labels_of[id(pools)] = known
        return known


class Session:
    """One request. `key` is set while the client is to be told a new one, for the pick that was given last."""

    __slots__ = ("_balancer", "_branch", "_is_pinned", "_new_key", "_peer", "_request", "_runtime", "_standing", "key")

    def __init__(
        self,
        branch: Branch,
        *,
        runtime: BackendRuntime,
        balancer: Balancer,
        request: RequestHead,
        peer: str,
        new_key: Callable[[], bytes],
    ) -> None:
        """`balancer` is that of the request; `peer` the client's address."""
        standing = branch.standing
        if not isinstance(standing, Standing) or standing.runtime is not runtime:
            standing = branch.standing = Standing(branch, runtime)
        self._standing = standing
        self._branch = branch
        self._runtime = runtime
        self._balancer = balancer
        self._request = request
        self._peer = peer
        self._new_key = new_key
        self._is_pinned = False
        self.key: bytes | None = None

    def pick(self, tried: Collection[Member] = (), now: float = 0.0) -> Pick | None:
        """The choice at `now`, or the next one, as `Balancer.pick`."""
        if self._balancer.refusal is not None:
            return self._balancer.pick(tried, now)
        if self._branch.stickiness is not None:
            return self._again(tried, now) if tried else self._first(now)
        return self._balancer.pick(tried, now) if tried else self._hashed(now)

    def _first(self, now: float) -> Pick | None:
        label = self._label()
        if label is None or self._standing.is_drained(self._balancer.pools, label):
            return self._new((), now)
        member = self._runtime.members[label]
        if self._is_full(member):
            self._is_pinned = True
            return self._balancer.pick((), now)  # elsewhere for once; the client keeps its cookie
        probe = self._takes_probe(member, now)
        if not (member.health.is_well or probe) and self._changes_on_failure:
            return self._new((), now)
        self._is_pinned = True
        return self._pick(label, probe=probe)

    def _again(self, tried: Collection[Member], now: float) -> Pick | None:
        if self._is_pinned and not self._changes_on_failure:
            return self._balancer.pick(tried, now)
        return self._new(tried, now)

    def _label(self) -> str | None:
        """The endpoint that the client's cookie leads to, if that is still there."""
        stickiness = self._branch.stickiness
        key = stickiness.key_in(self._request) if stickiness is not None else None
        if stickiness is None or key is None:
            return None
        return self._standing.label_by_key.get(key) if stickiness.settings.persistent else self._standing.ring.at(key)

    def _new(self, tried: Collection[Member], now: float) -> Pick | None:
        """What the balancer chooses, and a key that leads there."""
        self.key = None
        target = self._balancer.pick(tried, now)
        stickiness = self._branch.stickiness
        if target is None or stickiness is None:
            return target
        if stickiness.settings.persistent:
            self.key = stickiness.persistent_key(target.member.label)
            return target
        close: tuple[bytes, str] | None = None
        for _ in range(_DRAWS):
            key = self._new_key()
            label = self._standing.ring.at(key)
            if label == target.member.label:
                self.key = key
                return target
            if close is None and label is not None and self._is_as_good(label, tried):
                close = key, label
        if close is None or target.probe:
            return target  # without a cookie: the next request draws again
        self.key, label = close
        return msgspec.structs.replace(self._pick(label), foretold=target.foretold)

    def _hashed(self, now: float) -> Pick | None:
        text = self._branch.hash_text
        value = text(self._request, self._peer) if text is not None else b""
        unwell = drained = None
        for label in self._standing.ring.walk(value) if value else ():
            member = self._runtime.members[label]
            if self._is_full(member):
                continue
            if self._standing.is_drained(self._balancer.pools, label):
                drained = drained or (label if member.health.is_well else None)
                continue
            probe = self._takes_probe(member, now)
            if member.health.is_well or probe:
                return self._pick(label, probe=probe)
            unwell = unwell or label
        # A request that says nothing to hash is like any other; when nobody is well, health does not count.
        last = drained or unwell
        return self._balancer.pick((), now) if last is None else self._pick(last)

    def _pick(self, label: str, *, probe: bool = False) -> Pick:
        pick = self._standing.pick(label, self._balancer.pools)
        tried_out = self._balancer.tried_out
        if tried_out is not None:  # the client would have been held to this endpoint under the policy, too
            foretold = Foretold(self._standing.reason(label, tried_out), pick.tariff)
            pick = msgspec.structs.replace(pick, foretold=foretold)
        return msgspec.structs.replace(pick, probe=True) if probe else pick

    def _is_as_good(self, label: str, tried: Collection[Member]) -> bool:
        member = self._runtime.members[label]
        is_free = member.health.is_well and member not in tried and not self._is_full(member)
        return is_free and self._standing.is_in(self._balancer.pools, label)

    def _is_full(self, member: Member) -> bool:
        return 0 < self._runtime.backend.max_concurrency_per_endpoint <= member.in_flight

    def _takes_probe(self, member: Member, now: float) -> bool:
        """Whether this request is to find out if the endpoint is well again: nobody else may, where all are held."""
        return not member.health.is_well and self._runtime.health.take_probe(member.health, now)

    @property
    def _changes_on_failure(self) -> bool:
        stickiness = self._branch.stickiness
        return stickiness is not None and stickiness.settings.change_on_failure
