"""Decides whether clients should come to this replica, and says in one line why not. No I/O."""

from __future__ import annotations

from collections.abc import Callable

from balancer.zones.draining import leaves_load_balancers
from ingress.following.publishing import Published
from ingress.replicas.facts import FleetFacts


class Readiness:
    """The readiness of one replica. `draining` is set when the replica has begun to stop."""

    __slots__ = ("_fleet_facts", "_published", "_workers", "draining")

    def __init__(
        self, published: Published, *, workers: Callable[[], str | None], fleet_facts: Callable[[], FleetFacts]
    ) -> None:
        """`workers` says why no worker could serve, None if one can. `fleet_facts` are those of other replicas."""
        self._published = published
        self._workers = workers
        self._fleet_facts = fleet_facts
        self.draining = False

    def problem(self) -> str | None:
        """Why clients should not come; None if they may."""
        if self.draining:
            return "draining"
        publication = self._published.publication
        if publication is None:
            return "no configuration yet"
        own, zones = publication.model.own_zone, publication.model.zones
        if leaves_load_balancers(own, zones):
            return f"zone {own.zone} is drained, and zone-drain-replicas lets its replicas leave load balancers"
        if self._fleet_facts().is_away:
            return "what this replica asks fails in all zones and answers other replicas (fleet-readiness)"
        return self._workers()
