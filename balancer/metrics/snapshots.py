"""The facts beside the counters that a scrape shows.

Values only. Does not know who knows them, nor how they are rendered.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from balancer.model.zones import OwnZone

Series = Iterable[tuple[tuple[str, ...], float]]
"""Label values, in the order of the definition's labels, and the value for them."""


class Snapshot(msgspec.Struct, frozen=True):
    """The facts beside the counters at the time of a scrape. Build snapshots from prepared parts, because each scrape
    makes one.

    `build` is that of the data plane, as `balancer.runtime.build` says it.
    `routes` are (namespace, ingress, service) of the model in use, `route_kinds` the same with the kind of the owner
    before the Service. Keys of the mappings: `findings` (kind, reason,
    severity), `endpoints` (namespace, service, zone, state), `spill_ratios` (namespace, service), `overload_factors`,
    `expected_loads` and `failure_ratios` (namespace, service, zone), `certificate_expiries` (namespace, secret) to
    epoch seconds, `connections` (state,), `watch_ages_seconds` (kind,). `drained` are the zones that the operator
    drains. `unready` are the Services (namespace, service) of the model without a ready endpoint, `missing` those that
    a route names and the model lacks. `certified` are the hosts with a
    certificate of their own, each with the Secret (host, namespace, secret). `processes` holds the series of
    `balancer.metrics.processes` by name of the metric. `fleet` holds those of `FLEET_METRICS` in the
    same way. `interpreter` is text that ends the page.
    `published_at_epoch_seconds` is None before the first publication.
    """

    version: str
    build: str = "plain"
    own_zone: OwnZone = OwnZone()
    generation: int = 0
    published_at_epoch_seconds: float | None = None
    translation_seconds: float = 0.0
    routes: frozenset[tuple[str, str, str]] = frozenset()
    route_kinds: tuple[tuple[str, str, str, str], ...] = ()
    findings: Mapping[tuple[str, str, str], float] = {}
    endpoints: Mapping[tuple[str, str, str, str], float] = {}
    unready: frozenset[tuple[str, str]] = frozenset()
    missing: frozenset[tuple[str, str]] = frozenset()
    spill_ratios: Mapping[tuple[str, str], float] = {}
    overload_factors: Mapping[tuple[str, str, str], float] = {}
    expected_loads: Mapping[tuple[str, str, str], float] = {}
    failure_ratios: Mapping[tuple[str, str, str], float] = {}
    drained: tuple[str, ...] = ()
    certificate_expiries: Mapping[tuple[str, str], float] = {}
    certified: frozenset[tuple[str, str, str]] = frozenset()
    connections: Mapping[tuple[str], float] = {}
    watch_ages_seconds: Mapping[tuple[str], float] = {}
    event_loop_lag_seconds: float = 0.0
    processes: Mapping[str, Series] = {}
    fleet: Mapping[str, Series] = {}
    interpreter: bytes = b""
