"""Knows to which endpoints cookies and hashes lead in one backend in its present state. All its routes share it.

Holds the ring, the endpoints that keys name, and a pick for each endpoint. The backend's runtime holds the standing, so
a change of the backend or its surroundings makes a new one. Does not know requests.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from balancer.matching.affinity import Stickiness
from balancer.model.endpoints import Endpoint
from balancer.picking.members import Pick, label_of
from balancer.picking.ring import ring_of
from balancer.picking.turns import TurnMaker
from balancer.zones.reasons import Reason
from balancer.zones.split import Pools

# A backend has few pools. This only bounds what changing annotations could leave behind.
_POOLS_MAX = 64


class _Labels(NamedTuple):
    """The members of pools, by label. Holds `pools` too, so that their id() stays unique."""

    pools: Pools
    serving: frozenset[str]
    drained: frozenset[str]


class Standing:
    """The endpoints of one backend by label, and the endpoint to which each key leads."""

    __slots__ = ("_endpoints", "_label_by_key", "_labels_of", "_maker", "_picks", "ring")

    def __init__(self, endpoints: Sequence[Endpoint], maker: TurnMaker) -> None:
        """`endpoints` are those of the backend whose turns `maker` makes."""
        usable = [each for each in endpoints if each.ready] or [each for each in endpoints if each.serving_terminating]
        self._endpoints = {label_of(endpoint): endpoint for endpoint in usable}
        self.ring = ring_of(tuple(sorted(self._endpoints)))
        self._maker = maker
        self._label_by_key: dict[bytes, str] | None = None
        self._picks: dict[tuple[str, Reason], Pick] = {}
        self._labels_of: dict[int, _Labels] = {}

    def label(self, key: bytes, stickiness: Stickiness) -> str | None:
        """The endpoint to which the cookie key of a client leads; None if the key names an endpoint that is gone.

        `stickiness` is one of this backend. All of them have the same mark and the same persistent keys.
        """
        if not stickiness.settings.persistent:
            return self.ring.at(key)
        if self._label_by_key is None:
            self._label_by_key = {stickiness.persistent_key(label): label for label in self._endpoints}
        return self._label_by_key.get(key)

    def is_in(self, pools: Pools, label: str) -> bool:
        """Whether the zone policy itself could have chosen the endpoint."""
        return label in self._labels(pools).serving

    def is_drained(self, pools: Pools, label: str) -> bool:
        """Whether the endpoint is in a drained zone and others are not."""
        return label in self._labels(pools).drained

    def reason(self, label: str, pools: Pools) -> Reason:
        """The policy's reason if the endpoint is in the serving pool; otherwise affinity."""
        return pools.reason if self.is_in(pools, label) else Reason.AFFINITY_OVERRIDE

    def pick(self, label: str, pools: Pools) -> Pick:
        """The pick of an endpoint, with the policy's reason if the endpoint is in the serving pool."""
        reason = self.reason(label, pools)
        pick = self._picks.get((label, reason))
        if pick is None:
            pick = self._picks[label, reason] = self._maker.pick(self._endpoints[label], reason)
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
