"""Hands publications to the data plane, and keeps what an operator may ask about the last one.

Counts what a scrape needs only at a scrape, and only for changed parts, because endpoints may change ten times a
second.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import version
from itertools import chain

import msgspec

from balancer.matching.destinations import names_of
from balancer.metrics.snapshots import Snapshot
from balancer.model.certificates import Certificate
from balancer.model.endpoints import Backend
from balancer.model.publication import Publication, RoutingModel, other_objects
from balancer.model.routes import Route
from balancer.model.zones import UNKNOWN_ZONE, Zone, ZoneTraffic
from balancer.runtime.build import build
from balancer.workers.reports import FleetReport, failure_ratios
from ingress.findings import Finding, with_changes
from ingress.translation.assembly import Translation
from ingress.translation.gateway.own_ports import Exposure
from ingress.translation.gateway.standings import ObjectStanding

_LOG = logging.getLogger(__name__)

_Place = tuple[str, str, str, str]
_Service = tuple[str, str]

_NOTHING = RoutingModel()


class Published:
    """The newest publication and its findings: those of its translation, and those that requests have shown.

    Only one task may call `publish`; `use_fleet` is called between its calls.
    """

    __slots__ = (
        "_counted",
        "_model",
        "_own",
        "_seen",
        "_serve",
        "_sick",
        "_snapshot",
        "_traffic",
        "_translated",
        "exposures",
        "findings",
        "publication",
        "seen_at",
        "standings",
    )

    def __init__(self, serve: Callable[[Publication], None], *, own: tuple[Finding, ...] = ()) -> None:
        """`serve` makes the data plane use a publication. It must not fail. `own` are findings about this process."""
        self._serve = serve
        self.publication: Publication | None = None
        self.findings: tuple[Finding, ...] = ()
        self.standings: tuple[ObjectStanding, ...] = ()
        """What statuses of Gateway API should say."""
        self.exposures: tuple[Exposure, ...] = ()
        """What the Services of Gateways should be."""
        self.seen_at = 0
        """The stamp of the inventory that the standings judge."""
        self._translated: tuple[Finding, ...] | None = None  # before the first publication
        self._own = own
        self._seen: tuple[Finding, ...] = ()
        self._snapshot = Snapshot(version=version("zonal-ingress"), build=build())
        self._counted = RoutingModel()
        self._model = RoutingModel()  # as the last translation made it
        self._traffic: tuple[tuple[str, ZoneTraffic], ...] = ()
        self._sick: tuple[Zone, ...] = ()

    @property
    def version(self) -> str:
        """The version of this program."""
        return self._snapshot.version

    @property
    def model(self) -> RoutingModel:
        """The model in use; an empty one before the first publication."""
        return _NOTHING if self.publication is None else self.publication.model

    @property
    def published_at_epoch_seconds(self) -> float | None:
        """When the publication was made; None before the first one."""
        return self._snapshot.published_at_epoch_seconds

    @property
    def translation_seconds(self) -> float:
        """How long the last translation took."""
        return self._snapshot.translation_seconds

    def publish(self, translation: Translation, *, translation_seconds: float) -> bool:
        """Serves the model if it differs from the last one. Returns whether it did. Findings are kept in any case."""
        last = self.publication
        self.standings = translation.standings
        self.exposures = translation.exposures
        self.seen_at = translation.seen_at
        if translation.findings is not self._translated:  # endpoints change often, and findings do not change with them
            self._translated = translation.findings
            self._put_together()
        self._model = translation.model
        model = self._with_fleet()
        changed = last is None or model != last.model
        if changed:
            self._publish(model)
        self._snapshot = msgspec.structs.replace(self._snapshot, translation_seconds=translation_seconds)
        return changed

    def use_fleet(
        self, traffic: tuple[tuple[str, ZoneTraffic], ...] | None = None, sick: tuple[Zone, ...] | None = None
    ) -> None:
        """Serves the last model with the requests of Services by zone, and with zones that are sick for the fleet; see
        `ZoneFacts`. None: as before.
        """
        self._traffic = traffic if traffic is not None else self._traffic
        self._sick = sick if sick is not None else self._sick
        if self.publication is not None and self.publication.model.zones != (model := self._with_fleet()).zones:
            self._publish(model)

    def see(self, findings: tuple[Finding, ...]) -> bool:
        """Takes all findings that requests have shown, in place of the last ones. Returns whether they differ."""
        if findings == self._seen:
            return False
        self._seen = findings
        self._put_together()
        return True

    def _with_fleet(self) -> RoutingModel:
        model = self._model
        if not self._traffic and not self._sick:
            return model
        zones = msgspec.structs.replace(model.zones, traffic=self._traffic, sick=self._sick)
        return msgspec.structs.replace(model, zones=zones)

    def _publish(self, model: RoutingModel) -> None:
        generation = self.publication.generation + 1 if self.publication is not None else 1
        self.publication = Publication(generation=generation, model=model)
        self._serve(self.publication)
        self._snapshot = msgspec.structs.replace(
            self._snapshot, generation=generation, published_at_epoch_seconds=time.time()
        )

    def _put_together(self) -> None:
        translated, others = self._translated or (), (*self._own, *self._seen)
        self.findings = with_changes(translated, gone=(), new=others) if others else translated
        self._snapshot = msgspec.structs.replace(self._snapshot, findings=_counted(self.findings))

    def snapshot(self) -> Snapshot:
        """What a scrape shows beside the counters. The caller adds connections and loop lag."""
        publication = self.publication
        if publication is not None and publication.model is not self._counted:
            self._snapshot = _with_model(self._snapshot, self._counted, publication.model)
            self._counted = publication.model
        return self._snapshot


def log_publication(model: RoutingModel, seconds: float, *, level: int) -> None:
    """Logs a publication that was translated in `seconds`. Those of endpoints alone may come five times a second."""
    zone = model.own_zone.zone or "unknown"
    counts = len(model.hosts), len(model.backends)
    _LOG.log(level, "published %d hosts, %d backends, own zone %s, in %.0f ms", *counts, zone, seconds * 1000)


def with_report(snapshot: Snapshot, report: FleetReport) -> Snapshot:
    """`snapshot` with what workers report. Endpoints that health leaves out count as `ejected` instead of `ready`.

    A Service without a ready endpoint gets a count of 0, because an alert cannot use an absent series.
    """
    endpoints = dict(snapshot.endpoints)
    for service in snapshot.unready | snapshot.missing:
        endpoints.setdefault((*service, UNKNOWN_ZONE, "ready"), 0.0)
    for place, count in report.left_out.items():
        endpoints[(*place, "ready")] = max(0.0, endpoints.get((*place, "ready"), 0.0) - count)
        endpoints[(*place, "ejected")] = float(count)
    return msgspec.structs.replace(
        snapshot,
        endpoints=endpoints,
        connections=report.connections,
        spill_ratios=report.spill_ratios,
        overload_factors=report.overload_factors,
        failure_ratios=failure_ratios(report.zones),
        event_loop_lag_seconds=report.event_loop_lag_seconds,
    )


def _with_model(snapshot: Snapshot, before: RoutingModel, model: RoutingModel) -> Snapshot:
    """`snapshot` of `before` turned into one of `model`. Only objects that differ are counted."""
    if (
        model.hosts is not before.hosts
        or model.route_configurations is not before.route_configurations
        or model.relays is not before.relays
    ):
        kinds = _route_kinds(model)
        snapshot = msgspec.structs.replace(
            snapshot,
            routes=frozenset((namespace, owner, service) for namespace, owner, _, service in kinds),
            route_kinds=tuple(sorted(kinds)),
            missing=_missing(model),
            certified=_certified(model),
        )
    if model.certificates is not before.certificates:
        snapshot = msgspec.structs.replace(snapshot, certificate_expiries=_expiries(model.certificates))
    old, new = other_objects(before.backends, model.backends) or (before.backends, model.backends)
    return msgspec.structs.replace(
        snapshot,
        own_zone=model.own_zone,
        drained=model.zones.drained,
        endpoints=_endpoints(snapshot.endpoints, old, new),
        unready=_unready(snapshot.unready, (*old, *new), model.backends),
    )


def _expiries(certificates: tuple[Certificate, ...]) -> dict[tuple[str, str], float]:
    return {
        (namespace, name): certificate.expires_at_epoch_seconds
        for certificate in certificates
        for namespace, _, name in (certificate.key.partition("/"),)
    }


def _certified(model: RoutingModel) -> frozenset[tuple[str, str, str]]:
    """Each host with a certificate, and the Secret that holds it."""
    keys = ((host.name, *host.certificate.split("/", 1)) for host in model.hosts if host.certificate is not None)
    return frozenset((host, namespace, name) for host, namespace, name in keys)


def _all_routes(model: RoutingModel) -> list[Route]:
    routes = [route for host in model.hosts for route in (*host.routes, host.default) if route is not None]
    return [*routes, *model.default_routes()]


def _missing(model: RoutingModel) -> frozenset[_Service]:
    """The Services that open paths name and that do not exist, or lack the named port."""
    branches = (branch for route in _all_routes(model) if not route.closed for branch in route.branches)
    return frozenset((each.service.namespace, each.service.name) for each in branches if each.backend is None)


def _route_kinds(model: RoutingModel) -> frozenset[tuple[str, str, str, str]]:
    """The names under which the requests and streams of every branch are counted, with the kind of its owner."""
    branches = chain(
        (branch for route in _all_routes(model) for branch in route.branches),
        (branch for relay in model.relays for branch in relay.branches),
    )
    named = ((names_of(each), each.owner.kind) for each in branches)
    return frozenset((names.namespace, names.ingress, kind, names.service) for names, kind in named)


def _unready(
    before: frozenset[_Service], changed: tuple[Backend, ...], backends: tuple[Backend, ...]
) -> frozenset[_Service]:
    """The Services without a ready endpoint on any port, from those of `before` and the `changed` backends."""
    concerned = {(backend.namespace, backend.service) for backend in changed}
    if not concerned:
        return before
    present = [backend for backend in backends if (backend.namespace, backend.service) in concerned]
    ready = {(each.namespace, each.service) for each in present if any(endpoint.ready for endpoint in each.endpoints)}
    unready = {(each.namespace, each.service) for each in present} - ready
    return before - concerned | unready


def _endpoints(
    counts: Mapping[_Place, float], old: tuple[Backend, ...], new: tuple[Backend, ...]
) -> dict[_Place, float]:
    """The `counts` after `new` backends have replaced `old` ones.

    An endpoint on two ports of a Service counts twice.
    """
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
    """Namespace, Service, zone and state of each endpoint."""
    return (
        (backend.namespace, backend.service, endpoint.zone or UNKNOWN_ZONE, "ready" if endpoint.ready else "draining")
        for backend in backends
        for endpoint in backend.endpoints
    )


def _counted(findings: tuple[Finding, ...]) -> dict[tuple[str, str, str], float]:
    counts = Counter((finding.kind, finding.reason, finding.severity.value) for finding in findings)
    return {labels: float(count) for labels, count in counts.items()}
