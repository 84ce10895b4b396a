"""Hands publications to whoever serves them, and keeps what an operator may ask about the last one.

What a scrape needs of a model is counted when somebody asks, and once: endpoints may change ten times a second.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from importlib.metadata import version
from itertools import chain

import msgspec

from balancer.members import UNKNOWN_ZONE
from balancer.metrics.exposition import Snapshot
from balancer.model import Publication, RoutingModel
from balancer.workers.reports import FleetReport
from ingress.findings import Finding
from ingress.translation.assembly import Translation


class Published:
    """The newest publication and its findings. `publish` must be called by one task only."""

    __slots__ = ("_counted_generation", "_serve", "_snapshot", "findings", "publication")

    def __init__(self, serve: Callable[[Publication], None]) -> None:
        """`serve` makes the data plane use a publication; it must not fail."""
        self._serve = serve
        self.publication: Publication | None = None
        self.findings: tuple[Finding, ...] = ()
        self._snapshot = Snapshot(version=version("zonal-ingress"))
        self._counted_generation = 0

    def publish(self, translation: Translation, *, translation_seconds: float) -> bool:
        """Serve the model if it differs from the last one; returns whether it did. Findings are kept in any case."""
        last, counts = self.publication, self._snapshot.findings
        if translation.findings is not self.findings:  # endpoints change often, and the findings do not with them
            self.findings, counts = translation.findings, _counted(translation.findings)
        changed = last is None or translation.model != last.model
        if changed:
            generation = last.generation + 1 if last is not None else 1
            self.publication = Publication(generation=generation, model=translation.model)
            self._serve(self.publication)
            self._snapshot = msgspec.structs.replace(
                self._snapshot, generation=generation, published_at_epoch_seconds=time.time()
            )
        self._snapshot = msgspec.structs.replace(
            self._snapshot, translation_seconds=translation_seconds, findings=counts
        )
        return changed

    def snapshot(self) -> Snapshot:
        """What a scrape shows beside the counters; connections and loop lag are the caller's to add."""
        publication = self.publication
        if publication is not None and publication.generation != self._counted_generation:
            self._snapshot = _with_model(self._snapshot, publication.model)
            self._counted_generation = publication.generation
        return self._snapshot


def with_report(snapshot: Snapshot, report: FleetReport) -> Snapshot:
    """`snapshot` with what workers say; endpoints that health leaves out count as `ejected` instead of `ready`."""
    endpoints = dict(snapshot.endpoints)
    for place, count in report.left_out.items():
        endpoints[(*place, "ready")] = max(0.0, endpoints.get((*place, "ready"), 0.0) - count)
        endpoints[(*place, "ejected")] = float(count)
    return msgspec.structs.replace(
        snapshot,
        endpoints=endpoints,
        connections=report.connections,
        spill_ratios=report.spill_ratios,
        overload_factors=report.overload_factors,
        event_loop_lag_seconds=report.event_loop_lag_seconds,
    )


def _with_model(snapshot: Snapshot, model: RoutingModel) -> Snapshot:
    return msgspec.structs.replace(
        snapshot,
        own_zone=model.own_zone,
        routes=_routes(model),
        endpoints=_endpoints(model),
        certificate_expiries={
            (namespace, name): certificate.expires_at_epoch_seconds
            for certificate in model.certificates
            for namespace, _, name in (certificate.key.partition("/"),)
        },
    )


def _routes(model: RoutingModel) -> frozenset[tuple[str, str, str]]:
    routes = [route for host in model.hosts for route in (*host.routes, host.default) if route is not None]
    if model.default_route is not None:
        routes.append(model.default_route)
    canaries = ((each.namespace, each.ingress, each.service) for route in routes for each in route.canaries)
    return frozenset(chain(((route.namespace, route.ingress, route.service) for route in routes), canaries))


def _endpoints(model: RoutingModel) -> dict[tuple[str, str, str, str], float]:
    """Endpoints by Service, zone and state; one that serves on two ports of a Service counts for each."""
    counts = Counter(
        (backend.namespace, backend.service, endpoint.zone or UNKNOWN_ZONE, "ready" if endpoint.ready else "draining")
        for backend in model.backends
        for endpoint in backend.endpoints
    )
    return {labels: float(count) for labels, count in counts.items()}


def _counted(findings: tuple[Finding, ...]) -> dict[tuple[str, str], float]:
    counts = Counter((finding.kind, finding.reason) for finding in findings)
    return {labels: float(count) for labels, count in counts.items()}
