"""Renders the counters of all workers and the facts of a snapshot as Prometheus text.

Responsible for adding up, for leaving out series of routes that are gone, and for giving way to the event loop between
slices of work. It must not know who counts, nor where a snapshot comes from.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import accumulate, chain, islice
from typing import Final

import msgspec
from prometheus_client import generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from prometheus_client.samples import Sample

from balancer.members import UNKNOWN_ZONE
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
    Kind,
)
from balancer.metrics.recorder import NUMBERS, SUM
from balancer.metrics.slots import OVERFLOW, Buffer, read
from balancer.model import OwnZone

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
"""The text format that every version of Prometheus reads."""

# Measured at 12 microseconds a sample and 3 an entry, so a slice takes about 1 ms: far below the 5 ms that the
# event loop may be held, also on a machine a few times slower.
_SAMPLES_PER_SLICE: Final = 80
_ENTRIES_PER_SLICE: Final = 300

_UNROUTED: Final = ("", "", "")

Series = Iterable[tuple[tuple[str, ...], float]]
"""Label values, in the order of the definition's labels, and the value that belongs to them."""

_Slots = dict[tuple[str, ...], tuple[float, ...]]


class Snapshot(msgspec.Struct, frozen=True):
    """What is known at the moment of a scrape beside the counters. Build it from prepared parts: it is made per scrape.

    `routes` are (namespace, ingress, service) of the model in use. Keys of the mappings: `findings` (kind, reason),
    `endpoints` (namespace, service, zone, state), `spill_ratios` (namespace, service), `overload_factors` (namespace,
    service, zone), `certificate_expiries` (namespace, secret) to epoch seconds, `connections` (state,),
    `watch_ages_seconds` (kind,). `published_at_epoch_seconds` is None before the first publication.
    """

    version: str
    own_zone: OwnZone = OwnZone()
    generation: int = 0
    published_at_epoch_seconds: float | None = None
    translation_seconds: float = 0.0
    routes: frozenset[tuple[str, str, str]] = frozenset()
    findings: Mapping[tuple[str, str], float] = {}
    endpoints: Mapping[tuple[str, str, str, str], float] = {}
    spill_ratios: Mapping[tuple[str, str], float] = {}
    overload_factors: Mapping[tuple[str, str, str], float] = {}
    certificate_expiries: Mapping[tuple[str, str], float] = {}
    connections: Mapping[tuple[str], float] = {}
    watch_ages_seconds: Mapping[tuple[str], float] = {}
    event_loop_lag_seconds: float = 0.0


class Exposition:
    """Answers a scrape from the slot tables of all workers and a snapshot of that moment."""

    __slots__ = ("_clock", "_tables")

    def __init__(self, *, tables: Callable[[], Iterable[Buffer]], clock: Callable[[], float]) -> None:
        """`tables` gives the buffers of `SlotTable`s, living or left behind; `clock` the time in epoch seconds."""
        self._tables = tables
        self._clock = clock

    async def render(self, snapshot: Snapshot) -> bytearray:
        """The whole page, in the format of `CONTENT_TYPE`. The event loop gets its turn about every millisecond."""
        gauges = _gauges(snapshot, now=self._clock())
        counted = await _added_up(self._tables())
        known = _known_routes(snapshot)
        # Grown in place: joining the slices of a large page would hold the event loop longer than making any of them.
        page = bytearray()
        for definition in DEFINITIONS:
            if definition.kind is Kind.GAUGE:
                samples = _plain(definition, gauges[definition.name])
            else:
                samples = _counted(definition, counted.pop(NUMBERS[definition.name]), known)
            await _write(page, definition, samples)
        return page


async def _added_up(buffers: Iterable[Buffer]) -> dict[int, _Slots]:
    """The sums of all tables' slots, for each metric by its number."""
    sums: dict[int, _Slots] = {number: {} for number in NUMBERS.values()}
    refused = 0.0
    entries = chain.from_iterable(map(read, buffers))
    while batch := tuple(islice(entries, _ENTRIES_PER_SLICE)):
        for key, values in batch:
            if key == OVERFLOW:
                refused += values[0]
                continue
            of_metric = sums[key.metric]
            present = of_metric.get(key.labels)
            of_metric[key.labels] = values if present is None else tuple(map(float.__add__, present, values))
        await asyncio.sleep(0)
    sums[NUMBERS[ERRORS.name]]["metrics_overflow",] = (refused,)
    return sums


def _gauges(snapshot: Snapshot, *, now: float) -> dict[str, Series]:
    own = snapshot.own_zone
    published_at = snapshot.published_at_epoch_seconds
    return {
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


def _known_routes(snapshot: Snapshot) -> frozenset[tuple[str, ...]]:
    """What the leading route labels of a series may be: (namespace, ingress, service) or (namespace, service)."""
    routes = {*snapshot.routes, _UNROUTED}
    services = ((namespace, service) for namespace, _, service in routes)
    return frozenset[tuple[str, ...]](chain(routes, services))


def _plain(definition: Definition, series: Series) -> Iterator[Sample]:
    for labels, value in series:
        yield Sample(definition.name, dict(zip(definition.labels, labels, strict=True)), value)


def _counted(definition: Definition, slots: _Slots, known: frozenset[tuple[str, ...]]) -> Iterator[Sample]:
    route_labels = sum(label in ("namespace", "ingress", "service") for label in definition.labels)
    for labels, values in slots.items():
        if route_labels and labels[:route_labels] not in known:
            continue
        named = dict(zip(definition.labels, labels, strict=True))
        if definition.kind is Kind.HISTOGRAM:
            yield from _histogram(definition, named, values)
        else:
            yield Sample(definition.name, named, values[0])


def _histogram(definition: Definition, labels: dict[str, str], values: tuple[float, ...]) -> Iterator[Sample]:
    bounds = (*(str(bound) for bound in definition.buckets), "+Inf")
    cumulative = tuple(accumulate(values[:SUM]))
    for bound, count in zip(bounds, cumulative, strict=True):
        yield Sample(f"{definition.name}_bucket", {**labels, "le": bound}, count)
    yield Sample(f"{definition.name}_count", labels, cumulative[-1])
    yield Sample(f"{definition.name}_sum", labels, values[SUM])


class _Family(Collector):
    """One slice of one metric, in the form that `generate_latest` asks for."""

    def __init__(self, definition: Definition, samples: Iterable[Sample]) -> None:
        # The library names a counter without its suffix and puts it back.
        self._metric = Metric(definition.name.removesuffix("_total"), definition.help, definition.kind.value)
        self._metric.samples.extend(samples)

    def collect(self) -> Iterator[Metric]:
        yield self._metric


async def _write(page: bytearray, definition: Definition, samples: Iterator[Sample]) -> None:
    page += generate_latest(_Family(definition, islice(samples, _SAMPLES_PER_SLICE)))
    while batch := tuple(islice(samples, _SAMPLES_PER_SLICE)):
        await asyncio.sleep(0)
        # Only a metric's first slice keeps its two lines of heading, HELP and TYPE.
        page += generate_latest(_Family(definition, batch)).split(b"\n", 2)[2]
    await asyncio.sleep(0)
