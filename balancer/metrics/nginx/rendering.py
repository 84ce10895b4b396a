"""Renders metrics under the names of ingress-nginx at a scrape: counted ones, and ones derived from zonal's own facts.

Does not know how metrics were counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

import msgspec

from balancer.metrics import definitions as own
from balancer.metrics import process_metrics
from balancer.metrics.kinds import Definition, MetricKind
from balancer.metrics.nginx import series as nginx
from balancer.metrics.snapshots import Snapshot
from balancer.metrics.textformat import HistogramText, labels_text, line, number
from balancer.metrics.totals import Series, Totals

_REPOSITORY: Final = "zonal"
_CLIENTS: Final = ("client_active", "client_idle")

Told = Iterable[tuple[tuple[str, ...], float]]
"""Label values without those of the controller, and the value for them."""


class ControllerIdentity(msgspec.Struct, frozen=True):
    """The labels of every series: class of the controller, namespace and pod of this replica."""

    controller_class: str
    namespace: str
    pod: str

    @property
    def labels(self) -> tuple[str, str, str]:
        """The values in the order of the labels."""
        return self.controller_class, self.namespace, self.pod


def nginx_metrics(
    totals: Totals,
    snapshot: Snapshot,
    identity: ControllerIdentity,
    *,
    own_numbers: Mapping[str, int],
    is_known: Callable[[tuple[str, ...]], bool],
) -> Iterator[tuple[Definition, Iterator[str]]]:
    """Every metric with the lines of its series. The lines of a histogram are one text.

    `own_numbers` are the numbers of zonal's own metrics in the tables. `is_known` says whether a namespace, Ingress and
    Service are served now: series of others are left out.
    """
    for definition in nginx.COUNTED:
        yield definition, _counted(definition, totals, identity, is_known)
    latency = nginx.UPSTREAM_LATENCY
    yield latency, _upstream_latency(totals.of(own_numbers[own.ENDPOINT_DURATION.name]), identity, is_known)
    requests = sum(each.value for each in totals.of(own_numbers[own.RESPONSES.name]))
    for definition, told in _told(snapshot, requests).items():
        yield definition, _lines(definition, told, identity.labels)
    expiries = (
        ((namespace, identity.controller_class, host, secret, f"{namespace}-{secret}"), expiry)
        for host, namespace, secret in sorted(snapshot.certified)
        if (expiry := snapshot.certificate_expiries.get((namespace, secret))) is not None
    )
    yield nginx.EXPIRY, _lines(nginx.EXPIRY, expiries, ())


def _counted(
    definition: Definition, totals: Totals, identity: ControllerIdentity, is_known: Callable[[tuple[str, ...]], bool]
) -> Iterator[str]:
    histogram = HistogramText(definition) if definition.kind is MetricKind.HISTOGRAM else None
    first = nginx.REQUEST_LABELS.index("namespace")
    for series in totals.of(nginx.NUMBERS[definition.name]):
        if not is_known(series.key.labels[first : first + 3]):
            continue
        series.text = series.text or labels_text(definition, (*identity.labels, *series.key.labels))
        yield histogram.lines(series.text, series.values) if histogram else line(definition, series.text, series.value)


def _upstream_latency(
    series: Iterable[Series], identity: ControllerIdentity, is_known: Callable[[tuple[str, ...]], bool]
) -> Iterator[str]:
    """The sum and count of a summary, over all localities."""
    sums: dict[tuple[str, ...], list[float]] = {}
    for each in series:
        if is_known(place := each.key.labels[:3]):
            *buckets, seconds = each.values
            totals = sums.setdefault(place, [0.0, 0.0])
            totals[0] += seconds
            totals[1] += sum(buckets)
    for place, totals in sums.items():
        name, labels = nginx.UPSTREAM_LATENCY.name, labels_text(nginx.UPSTREAM_LATENCY, (*identity.labels, *place))
        yield f"{name}_sum{{{labels}}} {number(totals[0])}\n{name}_count{{{labels}}} {number(totals[1])}\n"


def _told(snapshot: Snapshot, requests: float) -> dict[Definition, Told]:
    active, idle = (snapshot.connections.get((state,), 0.0) for state in _CLIENTS)
    published_at = snapshot.published_at_epoch_seconds
    cpu = _all(snapshot, process_metrics.PROCESS_CPU, process_metrics.WORKER_CPU)
    memory = _all(snapshot, process_metrics.PROCESS_MEMORY, process_metrics.WORKER_MEMORY)
    return {
        nginx.CONNECTIONS: [
            (("active",), active + idle),
            (("reading",), 0.0),
            (("writing",), active),
            (("waiting",), idle),
        ],
        nginx.REQUESTS_TOTAL: [((), requests)],
        nginx.PROCESSES: [((), float(len(cpu)))],
        nginx.CPU_SECONDS: [((), sum(cpu))],
        nginx.MEMORY: [((), sum(memory))],
        nginx.VIRTUAL_MEMORY: [((), value) for value in _all(snapshot, process_metrics.PROCESS_VIRTUAL_MEMORY)],
        nginx.OLDEST_START: [((), value) for value in _all(snapshot, process_metrics.PROCESS_START)],
        nginx.BUILD: [((snapshot.version, "", _REPOSITORY), 1.0)],
        nginx.CONFIG_HASH: [((), snapshot.generation)],
        nginx.RELOAD_WELL: [((), 0.0 if published_at is None else 1.0)],
        nginx.RELOADED_AT: [] if published_at is None else [((), published_at)],
        nginx.SUCCESS: [((), snapshot.generation)],
        nginx.FAILURES: [((), 0.0)],
        nginx.ORPHANS: _orphans(snapshot),
    }


def _orphans(snapshot: Snapshot) -> Told:
    for kind, services in (("no-service", snapshot.missing), ("no-endpoint", snapshot.unready)):
        orphans: dict[tuple[str, str], bool] = {}
        for namespace, ingress, service in snapshot.routes:
            if ingress:
                is_orphan = (namespace, service) in services
                orphans[namespace, ingress] = orphans.get((namespace, ingress), False) or is_orphan
        yield from (((namespace, name, kind), float(is_so)) for (namespace, name), is_so in sorted(orphans.items()))


def _all(snapshot: Snapshot, *metrics: Definition) -> list[float]:
    return [value for metric in metrics for _, value in snapshot.processes.get(metric.name, ())]


def _lines(definition: Definition, told: Told, constant: tuple[str, ...]) -> Iterator[str]:
    return (line(definition, labels_text(definition, (*constant, *labels)), value) for labels, value in told)
