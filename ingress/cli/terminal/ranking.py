"""What `zonal top` shows of the traffic: which Services, in which order, and the cells of both tables.

Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Final

import msgspec

from ingress.admin.overview.document import SickZone
from ingress.admin.overview.tried_texts import percentage
from ingress.cli.terminal.rates import FlowRates, ServiceRates, TrafficRates
from ingress.cli.terminal.tables import Column, Grid, Row, table


class Order(Enum):
    """By what Services are sorted: the most first, names from A to Z."""

    REQUESTS = "requests"
    ERRORS = "errors"
    REMOTE = "remote"
    P99 = "p99"
    BYTES = "bytes"
    COST = "cost"
    NAME = "name"


_KEYS: Final[dict[Order, Callable[[ServiceRates], float]]] = {
    Order.REQUESTS: lambda service: service.requests_per_second,
    Order.ERRORS: lambda service: service.errors_per_second,
    Order.REMOTE: lambda service: service.remote_per_second,
    Order.P99: lambda service: service.p99_seconds or 0.0,
    Order.BYTES: lambda service: service.bytes_per_second,
    Order.COST: lambda service: service.dollars_per_month,
    Order.NAME: lambda service: 0.0,
}


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """Which Services are shown. `text` is anywhere in namespace/name. `limit` 0: all of them."""

    order: Order = Order.REQUESTS
    namespace: str = ""
    text: str = ""
    limit: int = 0


class Sums(msgspec.Struct, frozen=True):
    """All zones and Services together."""

    requests_per_second: float
    errors_per_second: float
    local_share: float | None
    dollars_per_month: float
    saved_per_month: float


def chosen(found: TrafficRates, choice: Choice) -> TrafficRates:
    """`found` with the Services that are to be shown, in their order. Flows stay."""
    services = [
        service
        for service in found.services
        if choice.namespace in ("", service.namespace) and choice.text in f"{service.namespace}/{service.name}"
    ]
    services.sort(key=lambda service: (-_KEYS[choice.order](service), service.namespace, service.name))
    return msgspec.structs.replace(found, services=tuple(services[: choice.limit or None]))


def totals(found: TrafficRates) -> Sums:
    """The sums of what is shown. Requests and errors include those without a Service."""
    known = sum(service.local_per_second + service.remote_per_second for service in found.services)
    local = sum(service.local_per_second for service in found.services)
    return Sums(
        requests_per_second=sum(flow.requests_per_second for flow in found.flows),
        errors_per_second=sum(flow.errors_per_second for flow in found.flows),
        local_share=local / known if known else None,
        dollars_per_month=sum(service.dollars_per_month for service in found.services),
        saved_per_month=sum(service.saved_per_month for service in found.services),
    )


def headline(found: TrafficRates) -> str:
    """All figures in one line. Give it every Service."""
    sums = totals(found)
    replicas = f"{found.replicas} replica{'s' if found.replicas != 1 else ''}"
    starting = f" ({found.replicas - found.counted} without rates yet)" if found.counted < found.replicas else ""
    parts = (
        f"{replicas}{starting}",
        f"{rate(sums.requests_per_second)} req/s",
        f"{percent(sums.local_share)} in own zone",
        f"{rate(sums.errors_per_second)} err/s",
        f"${money(sums.dollars_per_month)} in 30 d",
        f"${money(sums.saved_per_month)} saved",
    )
    return " · ".join(parts)


def flows_table(flows: Sequence[FlowRates]) -> Grid:
    """One line for each pair of zones; `=` marks a zone's traffic to itself."""
    columns = [Column("from"), Column("to"), Column("")]
    columns += [Column(name, is_number=True) for name in ("req/s", "err/s", "bytes/s", "$/30 d")]
    return table(columns, [Row(_flow_cells(flow)) for flow in flows])


def _flow_cells(flow: FlowRates) -> tuple[str, ...]:
    return (
        flow.from_zone,
        flow.to_zone,
        "=" if flow.from_zone == flow.to_zone != "unknown" else "",
        rate(flow.requests_per_second),
        rate(flow.errors_per_second),
        size(flow.bytes_per_second),
        money(flow.dollars_per_month),
    )


# With the columns that a narrow terminal leaves out, the highest first.
_NUMBERS: Final = (
    ("ready", 0),
    ("req/s", 0),
    ("local", 0),
    ("spill", 6),
    ("err/s", 0),
    ("p50 ms", 7),
    ("p99 ms", 2),
    ("p99 remote", 9),
    ("bytes/s", 8),
    ("$/30 d", 5),
    ("saved", 0),
)


def services_table(services: Sequence[ServiceRates]) -> Grid:
    """One line for each Service."""
    columns = [Column("service"), Column("mode", spare=3), Column("reason", spare=4)]
    columns += [Column(name, is_number=True, spare=spare) for name, spare in _NUMBERS]
    return table(
        columns, [Row(_service_cells(each), (each.tried_text,) if each.tried_text else ()) for each in services]
    )


def _service_cells(service: ServiceRates) -> tuple[str, ...]:
    known = service.ready + service.draining + service.ejected
    return (
        f"{service.namespace}/{service.name}",
        "+".join(service.modes) or "-",
        "+".join(service.reasons) or "-",
        str(service.ready) if service.ready == known else f"{service.ready}/{known}",
        rate(service.requests_per_second),
        percent(service.local_share),
        percent(service.spill_ratio),
        rate(service.errors_per_second),
        milliseconds(service.p50_seconds),
        milliseconds(service.p99_seconds),
        milliseconds(service.p99_remote_seconds),
        size(service.bytes_per_second),
        money(service.dollars_per_month),
        money(service.saved_per_month),
    )


def sick_zones_table(services: Sequence[ServiceRates]) -> Grid:
    """One line for each zone whose answers fail, as each replica sees it. Percentages are of answers that failed."""
    columns = [Column("service"), Column("sick zone"), Column("state")]
    columns += [Column(name, is_number=True) for name in ("leaves", "fails", "others fail", "for")]
    return table(columns, [Row(_sick_cells(each, zone)) for each in services for zone in each.sick_zones])


def _sick_cells(service: ServiceRates, sick: SickZone) -> tuple[str, ...]:
    return (
        f"{service.namespace}/{service.name}",
        sick.zone,
        _state(sick),
        percent(sick.share),
        _failed(sick.failed, sick.answers),
        _failed(sick.other_failed, sick.other_answers),
        f"{sick.seconds:.0f} s",
    )


def _state(sick: SickZone) -> str:
    if sick.dry_run:
        return f"{sick.state} (dry run)"
    return f"{sick.state}, not {sick.staying}" if sick.staying else sick.state


def _failed(failed: int, answers: int) -> str:
    return f"{percent(failed / answers)} of {answers}" if answers else "-"


def rate(per_second: float) -> str:
    """A rate with two figures below ten, and none behind the point above."""
    return f"{per_second:.1f}" if 0 < per_second < 10 else f"{per_second:.0f}"


def percent(share: float | None) -> str:
    """A share of 1 in percent."""
    return "-" if share is None else f"{percentage(share)}%"


def milliseconds(seconds: float | None) -> str:
    """A duration in milliseconds."""
    if seconds is None:
        return "-"
    return f"{seconds * 1000:.1f}" if seconds < 0.01 else f"{seconds * 1000:.0f}"


def size(per_second: float) -> str:
    """Bytes in powers of ten, as prices count them."""
    for unit, length in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if per_second >= length:
            return f"{per_second / length:.1f}{unit}"
    return f"{per_second:.0f}"


def money(dollars: float) -> str:
    """Dollars with cents, or without them from a hundred on."""
    rounded = round(dollars, 2) + 0.0  # a negative zero becomes zero
    return f"{rounded:,.0f}" if abs(rounded) >= 100 else f"{rounded:.2f}"
