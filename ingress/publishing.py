"""Hands publications to whoever serves them, and keeps what an operator may ask about the last one.

What a scrape needs of a model is counted when somebody asks, and of what changed only: endpoints may change ten times a
second.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import version
from itertools import chain, compress
from operator import is_not

import msgspec

from balancer.members import UNKNOWN_ZONE
from balancer.metrics.exposition import Snapshot
from balancer.model import Backend, Certificate, Publication, RoutingModel
from balancer.workers.reports import FleetReport
from ingress.findings import Finding
from ingress.translation.assembly import Translation

_Place = tuple[str, str, str, str]


class Published:
    """The newest publication and its findings. `publish` must be called by one task only."""

    __slots__ = ("_counted", "_serve", "_snapshot", "findings", "publication")

    def __init__(self, serve: Callable[[Publication], None]) -> None:
        """`serve` makes the data plane use a publication; it must not fail."""
        self._serve = serve
        self.publication: Publication | None = None
        self.findings: tuple[Finding, ...] = ()
        self._snapshot = Snapshot(version=version("zonal-ingress"))
        self._counted = RoutingModel()

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
        if publication is not None and publication.model is not self._counted:
            self._snapshot = _with_model(self._snapshot, self._counted, publication.model)
            self._counted = publication.model
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


def _with_model(snapshot: Snapshot, before: RoutingModel, model: RoutingModel) -> Snapshot:
    """`snapshot` of `before` as one of `model`. Only what is another object than before is counted."""
    if model.hosts is not before.hosts or model.default_route is not before.default_route:
        snapshot = msgspec.structs.replace(snapshot, routes=_routes(model))
    if model.certificates is not before.certificates:
        snapshot = msgspec.structs.replace(snapshot, certificate_expiries=_expiries(model.certificates))
    return msgspec.structs.replace(
        snapshot,
        own_zone=model.own_zone,
        endpoints=_endpoints(snapshot.endpoints, before.backends, model.backends),
    )


def _expiries(certificates: tuple[Certificate, ...]) -> dict[tuple[str, str], float]:
    return {
        (namespace, name): certificate.expires_at_epoch_seconds
        for certificate in certificates
        for namespace, _, name in (certificate.key.partition("/"),)
    }


def _routes(model: RoutingModel) -> frozenset[tuple[str, str, str]]:
    routes = [route for host in model.hosts for route in (*host.routes, host.default) if route is not None]
    if model.default_route is not None:
        routes.append(model.default_route)
    canaries = ((each.namespace, each.ingress, each.service) for route in routes for each in route.canaries)
    return frozenset(chain(((route.namespace, route.ingress, route.service) for route in routes), canaries))


def _endpoints(
    counts: Mapping[_Place, float], before: tuple[Backend, ...], after: tuple[Backend, ...]
) -> dict[_Place, float]:
    """The `counts` of `before` as those of `after`.

    One that serves on two ports of a Service counts for each.
    """
    old, new = before, after
    if len(before) == len(after):
        differs = list(map(is_not, before, after))
        old, new = tuple(compress(before, differs)), tuple(compress(after, differs))
    changes = Counter(_places(new))
    changes.subtract(Counter(_places(old)))
    counted = dict(counts)
    for place, change in changes.items():
        count = counted.get(place, 0.0) + change
        if count:
            counted[place] = count
        else:
            counted.pop(place, None)
    return counted


def _places(backends: tuple[Backend, ...]) -> Iterator[_Place]:
    """Of each endpoint its namespace, Service, zone and state."""
    return (
        (backend.namespace, backend.service, endpoint.zone or UNKNOWN_ZONE, "ready" if endpoint.ready else "draining")
        for backend in backends
        for endpoint in backend.endpoints
    )


def _counted(findings: tuple[Finding, ...]) -> dict[tuple[str, str], float]:
    counts = Counter((finding.kind, finding.reason) for finding in findings)
    return {labels: float(count) for labels, count in counts.items()}
