"""Renders the counters of all workers and the facts of a snapshot as Prometheus text.

Leaves out series of routes that are gone, and gives the event loop a turn between slices of work. Does not know who
counts, nor where a snapshot comes from.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import Final

import msgspec

from balancer.metrics.definitions import (
    BUILD_INFO,
    CERTIFICATE_EXPIRY,
    CONFIG_AGE,
    CONFIG_GENERATION,
    CONNECTIONS,
    DEFINITIONS,
    ENDPOINTS,
    ERRORS,
    EVENT_LOOP_LAG,
    FINDINGS,
    OVERLOAD_FACTOR,
    OWN_ZONE_INFO,
    SPILL_RATIO,
    TRANSLATION_SECONDS,
    WATCH_AGE,
    Definition,
    MetricKind,
)
from balancer.metrics.processes import PROCESS_METRICS
from balancer.metrics.recorder import NUMBERS
from balancer.metrics.slots import Buffer
from balancer.metrics.textformat import HistogramText, heading, labels_text, line
from balancer.metrics.totals import Totals
from balancer.model.zones import UNKNOWN_ZONE, OwnZone

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
"""The text format that every version of Prometheus reads."""

# By measurement a line takes 1 microsecond and the lines of a histogram 5, so a slice takes less than half a
# millisecond. That is far below the 5 ms for which the event loop may be blocked, even on a machine that is a few times
# slower.
_LINES_PER_SLICE: Final = 300
_HISTOGRAMS_PER_SLICE: Final = 60

_UNROUTED: Final = ("", "", "")

Series = Iterable[tuple[tuple[str, ...], float]]
"""Label values, in the order of the definition's labels, and the value for them."""


class Snapshot(msgspec.Struct, frozen=True):
    """The facts beside the counters at the time of a scrape. Build it from prepared parts, because each scrape makes
    one.

    `routes` are (namespace, ingress, service) of the model in use. Keys of the mappings: `findings` (kind, reason,
    severity), `endpoints` (namespace, service, zone, state), `spill_ratios` (namespace, service), `overload_factors`
    (namespace, service, zone), `certificate_expiries` (namespace, secret) to epoch seconds, `connections` (state,),
    `watch_ages_seconds` (kind,). `unready` are the Services (namespace, service) of the model without a ready endpoint,
    `missing` those that a route names and the model lacks. `processes` holds the series of `balancer.metrics.processes`
    by name of the metric. `published_at_epoch_seconds` is None before the first publication.
    """

    version: str
    own_zone: OwnZone = OwnZone()
    generation: int = 0
    published_at_epoch_seconds: float | None = None
    translation_seconds: float = 0.0
    routes: frozenset[tuple[str, str, str]] = frozenset()
    findings: Mapping[tuple[str, str, str], float] = {}
    endpoints: Mapping[tuple[str, str, str, str], float] = {}
    unready: frozenset[tuple[str, str]] = frozenset()
    missing: frozenset[tuple[str, str]] = frozenset()
    spill_ratios: Mapping[tuple[str, str], float] = {}
    overload_factors: Mapping[tuple[str, str, str], float] = {}
    certificate_expiries: Mapping[tuple[str, str], float] = {}
    connections: Mapping[tuple[str], float] = {}
    watch_ages_seconds: Mapping[tuple[str], float] = {}
    event_loop_lag_seconds: float = 0.0
    processes: Mapping[str, Series] = {}


class Exposition:
    """Answers a scrape from the slot tables of all workers and a snapshot."""

    __slots__ = ("_clock", "_known", "_routes", "_tables", "_totals")

    def __init__(self, *, tables: Callable[[], Iterable[Buffer]], clock: Callable[[], float]) -> None:
        """`tables` returns the buffers of the `SlotTable`s, in use or left behind. `clock` returns Unix time."""
        self._tables = tables
        self._clock = clock
        self._totals = Totals()
        self._routes: frozenset[tuple[str, str, str]] | None = None
        self._known: frozenset[tuple[str, ...]] = frozenset()

    async def render(self, snapshot: Snapshot) -> bytearray:
        """The whole page, in the format of `CONTENT_TYPE`. The event loop gets a turn about every millisecond."""
        gauges = _gauges(snapshot, now=self._clock())
        for _ in self._totals.take_up(self._tables()):
            await asyncio.sleep(0)
        known = self._known_routes(snapshot)
        # Grown in place, because joining the slices of a large page would block the event loop for longer than any
        # slice.
        page = bytearray()
        for definition in DEFINITIONS:
            page += heading(definition).encode()
            series = gauges.get(definition.name)
            lines = self._counted(definition, known) if series is None else _gauge_lines(definition, series)
            per_slice = _HISTOGRAMS_PER_SLICE if definition.kind is MetricKind.HISTOGRAM else _LINES_PER_SLICE
            while batch := tuple(islice(lines, per_slice)):
                page += "".join(batch).encode()
                await asyncio.sleep(0)
        return page

    def _counted(self, definition: Definition, known: frozenset[tuple[str, ...]]) -> Iterator[str]:
        """The lines of each series whose route is known. The lines of a histogram are one text."""
        route_labels = sum(label in ("namespace", "ingress", "service") for label in definition.labels)
        histogram = HistogramText(definition) if definition.kind is MetricKind.HISTOGRAM else None
        for series in self._totals.of(NUMBERS[definition.name]):
            labels = series.key.labels
            if route_labels and labels[:route_labels] not in known:
                continue
            text = series.text = series.text or labels_text(definition, labels)
            yield histogram.lines(text, series.values) if histogram else line(definition, text, series.value)
        if definition is ERRORS:
            yield line(definition, labels_text(definition, ["metrics_overflow"]), self._totals.refused)

    def _known_routes(self, snapshot: Snapshot) -> frozenset[tuple[str, ...]]:
        """The possible leading route labels of a series: (namespace, ingress, service) or (namespace, service)."""
        if snapshot.routes is not self._routes:
            routes = {*snapshot.routes, _UNROUTED}
            services = ((namespace, service) for namespace, _, service in routes)
            self._known, self._routes = frozenset[tuple[str, ...]](chain(routes, services)), snapshot.routes
        return self._known


def _gauges(snapshot: Snapshot, *, now: float) -> dict[str, Series]:
    own = snapshot.own_zone
    published_at = snapshot.published_at_epoch_seconds
    return {
        **dict.fromkeys(PROCESS_METRICS, ()),
        **snapshot.processes,
        ENDPOINTS.name: snapshot.endpoints.items(),
        SPILL_RATIO.name: snapshot.spill_ratios.items(),
        OVERLOAD_FACTOR.name: snapshot.overload_factors.items(),
        OWN_ZONE_INFO.name: [((own.zone or UNKNOWN_ZONE, own.node or "", own.source), 1.0)],
        CONFIG_GENERATION.name: [((), snapshot.generation)],
        CONFIG_AGE.name: [] if published_at is None else [((), max(0.0, now - published_at))],
        TRANSLATION_SECONDS.name: [((), snapshot.translation_seconds)],
        FINDINGS.name: snapshot.findings.items(),
        CERTIFICATE_EXPIRY.name: snapshot.certificate_expiries.items(),
        CONNECTIONS.name: snapshot.connections.items(),
        WATCH_AGE.name: snapshot.watch_ages_seconds.items(),
        EVENT_LOOP_LAG.name: [((), snapshot.event_loop_lag_seconds)],
        BUILD_INFO.name: [((snapshot.version,), 1.0)],
    }


def _gauge_lines(definition: Definition, series: Series) -> Iterator[str]:
    return (line(definition, labels_text(definition, labels), value) for labels, value in series)
