"""Renders the counters of all workers and the facts of a snapshot as Prometheus text.

Leaves out series of routes that are gone, and gives the event loop a turn between slices of work. Does not know who
counts, nor where a snapshot comes from.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from itertools import chain
from operator import itemgetter
from typing import Final

from balancer.metrics.definitions import (
    BUILD_INFO,
    CONNECTIONS,
    DEFINITIONS,
    ENDPOINTS,
    ERRORS,
    EVENT_LOOP_LAG,
    EXPECTED_LOAD,
    HTTP2_CLIENTS,
    OVERLOAD_FACTOR,
    SPILL_RATIO,
    ZONE_DRAINED,
    ZONE_FAILURE_RATIO,
)
from balancer.metrics.fleet_metrics import FLEET_METRICS
from balancer.metrics.kinds import Definition, MetricKind
from balancer.metrics.model_metrics import (
    CERTIFICATE_EXPIRY,
    CONFIG_AGE,
    CONFIG_GENERATION,
    FINDINGS,
    OWN_ZONE_INFO,
    ROUTE_INFO,
    TRANSLATION_SECONDS,
    WATCH_AGE,
)
from balancer.metrics.nginx.rendering import ControllerIdentity, nginx_metrics
from balancer.metrics.processes import PROCESS_METRICS
from balancer.metrics.recorder import NUMBERS
from balancer.metrics.slots import Buffer
from balancer.metrics.snapshots import Series, Snapshot
from balancer.metrics.textformat import HistogramText, heading, labels_text, line
from balancer.metrics.totals import Totals
from balancer.model.zones import UNKNOWN_ZONE
from balancer.runtime.turns import in_turns

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
"""The text format that every version of Prometheus reads."""

# After a piece a worker may have the core. By measurement a line takes 1 microsecond and the lines of a histogram 5.
_PIECE_SECONDS: Final = 0.00003
# To grow one buffer of tens of megabytes, to hand it to the kernel, and to free it would each hold the event loop for
# milliseconds.
_PART_BYTES: Final = 32 * 1024

_UNROUTED: Final = ("", "", "")
_HTTP2_KINDS: Final = {"http2_connections": "connections", "http2_streams": "streams"}  # by the state of connections


class Exposition:
    """Answers a scrape from the slot tables of all workers and a snapshot."""

    __slots__ = ("_clock", "_identity", "_known", "_routes", "_tables", "_totals")

    def __init__(
        self,
        *,
        tables: Callable[[], Iterable[Buffer]],
        clock: Callable[[], float],
        identity: ControllerIdentity | None = None,
        totals: Totals | None = None,
    ) -> None:
        """`tables` returns the buffers of the `SlotTable`s, in use or left behind. `clock` returns Unix time.

        `totals` may be shared with other readers of the same tables, so that each entry is decoded only once. With an
        `identity` the page also has metrics under the names of ingress-nginx.
        """
        self._identity = identity
        self._tables = tables
        self._clock = clock
        self._totals = totals or Totals()
        self._routes: frozenset[tuple[str, str, str]] | None = None
        self._known: frozenset[tuple[str, ...]] = frozenset()

    async def render(self, snapshot: Snapshot) -> list[bytes]:
        """The whole page in parts, in the format of `CONTENT_TYPE`. The event loop does other work meanwhile."""
        gauges = _gauges(snapshot, now=self._clock())
        await in_turns(self._totals.take_up(self._tables()))
        known = self._known_routes(snapshot)
        parts: list[bytes] = []
        await in_turns(_into(parts, _pieces(self._metrics(snapshot, gauges, known))))
        return [*parts, snapshot.interpreter]

    def _metrics(
        self, snapshot: Snapshot, gauges: Mapping[str, Series], known: frozenset[tuple[str, ...]]
    ) -> Iterator[tuple[Definition, Iterator[str]]]:
        for definition in DEFINITIONS:
            series = gauges.get(definition.name)
            yield definition, self._counted(definition, known) if series is None else _gauge_lines(definition, series)
        if self._identity is not None:
            yield from nginx_metrics(
                self._totals, snapshot, self._identity, own_numbers=NUMBERS, is_known=known.__contains__
            )

    def _counted(self, definition: Definition, known: frozenset[tuple[str, ...]]) -> Iterator[str]:
        """The lines of each series whose route is known. The lines of a histogram are one text."""
        place_of = _place_of(definition)
        histogram = HistogramText(definition) if definition.kind is MetricKind.HISTOGRAM else None
        for series in self._totals.of(NUMBERS[definition.name]):
            labels = series.key.labels
            if place_of is not None and place_of(labels) not in known:
                continue
            text = series.text or labels_text(definition, labels)
            series.text = text
            yield histogram.lines(text, series.values) if histogram else line(definition, text, series.value)
        if definition is ERRORS:
            yield line(definition, labels_text(definition, ["metrics_overflow"]), self._totals.refused)

    def _known_routes(self, snapshot: Snapshot) -> frozenset[tuple[str, ...]]:
        """The possible leading route labels of a series: (namespace, ingress, service) or (namespace, service)."""
        if snapshot.routes is not self._routes:
            routes = {*snapshot.routes, _UNROUTED}
            services = ((namespace, service) for namespace, _, service in routes)
            self._known = frozenset[tuple[str, ...]](chain(routes, services))
            self._routes = snapshot.routes
        return self._known


def _place_of(definition: Definition) -> Callable[[tuple[str, ...]], object] | None:
    """What finds the route or Service that a series is of among its labels; None: it is of neither."""
    places = [number for number, label in enumerate(definition.labels) if label in ("namespace", "ingress", "service")]
    return itemgetter(*places) if len(places) > 1 else None


def _pieces(metrics: Iterable[tuple[Definition, Iterator[str]]]) -> Iterator[bytes]:
    """The page in pieces that are made in some tens of microseconds each."""
    for definition, lines in metrics:
        piece, ends_at = [heading(definition)], time.perf_counter() + _PIECE_SECONDS
        for text in lines:
            piece.append(text)
            if time.perf_counter() >= ends_at:
                yield "".join(piece).encode()
                piece, ends_at = [], time.perf_counter() + _PIECE_SECONDS
        yield "".join(piece).encode()


def _into(parts: list[bytes], pieces: Iterable[bytes]) -> Generator[None, None, None]:
    """Puts pieces together to parts of the page, in steps."""
    held: list[bytes] = []
    held_bytes = 0
    for piece in pieces:
        held.append(piece)
        held_bytes += len(piece)
        if held_bytes >= _PART_BYTES:
            parts.append(b"".join(held))
            held.clear()
            held_bytes = 0
        yield
    parts.append(b"".join(held))


def _gauges(snapshot: Snapshot, *, now: float) -> dict[str, Series]:
    own = snapshot.own_zone
    published_at = snapshot.published_at_epoch_seconds
    return {
        **dict.fromkeys(PROCESS_METRICS, ()),
        **snapshot.processes,
        **{each.name: () for each in FLEET_METRICS},
        **snapshot.fleet,
        ENDPOINTS.name: snapshot.endpoints.items(),
        SPILL_RATIO.name: snapshot.spill_ratios.items(),
        OVERLOAD_FACTOR.name: snapshot.overload_factors.items(),
        EXPECTED_LOAD.name: snapshot.expected_loads.items(),
        ZONE_FAILURE_RATIO.name: snapshot.failure_ratios.items(),
        ZONE_DRAINED.name: [((zone,), 1.0) for zone in snapshot.drained],
        ROUTE_INFO.name: [(each, 1.0) for each in snapshot.route_kinds],
        OWN_ZONE_INFO.name: [((own.zone or UNKNOWN_ZONE, own.node or "", own.source), 1.0)],
        CONFIG_GENERATION.name: [((), snapshot.generation)],
        CONFIG_AGE.name: [] if published_at is None else [((), max(0.0, now - published_at))],
        TRANSLATION_SECONDS.name: [((), snapshot.translation_seconds)],
        FINDINGS.name: snapshot.findings.items(),
        CERTIFICATE_EXPIRY.name: snapshot.certificate_expiries.items(),
        CONNECTIONS.name: [item for item in snapshot.connections.items() if item[0][0] not in _HTTP2_KINDS],
        HTTP2_CLIENTS.name: [
            ((kind,), snapshot.connections[state,])
            for state, kind in _HTTP2_KINDS.items()
            if (state,) in snapshot.connections
        ],
        WATCH_AGE.name: snapshot.watch_ages_seconds.items(),
        EVENT_LOOP_LAG.name: [((), snapshot.event_loop_lag_seconds)],
        BUILD_INFO.name: [((snapshot.version, snapshot.build), 1.0)],
    }


def _gauge_lines(definition: Definition, series: Series) -> Iterator[str]:
    return (line(definition, labels_text(definition, labels), value) for labels, value in series)
