"""What zonal itself counted, by month and namespace or Service: bytes between zones, their cost, and what was saved.

Asks through a function that is given. Time is an argument.
"""

from __future__ import annotations

import csv
import io
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime

import msgspec

from balancer.zones.cost import GIGABYTE
from ingress.migration.savings.bills import MOST_OVERHEAD
from ingress.migration.savings.prometheus import Sample, by, label

_BYTES, _COST, _BLIND = (
    "zonal_zone_bytes_total",
    "zonal_zone_cost_dollars_total",
    "zonal_zone_blind_cost_dollars_total",
)

_HEADS = (
    *("month", "namespace", "service", "gigabytes", "gigabytes_between_zones"),
    *("cost_dollars", "blind_dollars", "saved_dollars", "saved_dollars_most"),
)

Ask = Callable[[str, float], Sequence[Sample]]
"""A query and the Unix time of its answer."""


class Month(msgspec.Struct, frozen=True):
    """A month of the calendar in UTC, as `YYYY-MM`; the present one ends now."""

    name: str
    begin_epoch_seconds: float
    end_epoch_seconds: float


class Shown(msgspec.Struct, frozen=True):
    """One line of the showback. An empty `service` is every Service of the namespace."""

    month: str
    namespace: str
    service: str
    gigabytes: float
    gigabytes_between_zones: float
    cost_dollars: float
    blind_dollars: float

    @property
    def saved_dollars(self) -> float:
        """Less than a proxy costs that does not know zones."""
        return self.blind_dollars - self.cost_dollars


class _MonthSums(msgspec.Struct):
    bytes: float = 0.0
    between: float = 0.0
    cost: float = 0.0
    blind: float = 0.0


def months_until(now: datetime, count: int) -> list[Month]:
    """The last `count` months of the calendar, the present one the last."""
    found: list[Month] = []
    end, begin = now, now.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    for _ in range(count):
        found.append(Month(begin.strftime("%Y-%m"), begin.timestamp(), end.timestamp()))
        end = begin
        begin = datetime(begin.year - (begin.month == 1), (begin.month - 2) % 12 + 1, 1, tzinfo=UTC)
    return [each for each in reversed(found) if each.end_epoch_seconds > each.begin_epoch_seconds]


def showback(ask: Ask, months: Sequence[Month], *, by_service: bool) -> Iterator[Shown]:
    """The lines of each month, by name. Services and namespaces without traffic have none."""
    names = ("namespace", "service") if by_service else ("namespace",)
    for month in months:
        lines: defaultdict[tuple[str, str], _MonthSums] = defaultdict(_MonthSums)
        for labels, value in _grown(ask, _BYTES, month, (*names, "from_zone", "to_zone")):
            line = lines[_name(labels, names)]
            line.bytes += value
            zones = {label(labels, "from_zone"), label(labels, "to_zone")}
            if len(zones) == 2 and "unknown" not in zones:
                line.between += value
        for labels, value in _grown(ask, _COST, month, names):
            lines[_name(labels, names)].cost += value
        for labels, value in _grown(ask, _BLIND, month, names):
            lines[_name(labels, names)].blind += value
        for (namespace, service), line in sorted(lines.items()):
            sizes = line.bytes / GIGABYTE, line.between / GIGABYTE
            yield Shown(month.name, namespace, service, *sizes, line.cost, line.blind)


def as_csv(lines: Sequence[Shown]) -> str:
    """The lines as CSV (RFC 4180 with line feeds), with heads, and with the bounds between which the saving lies."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(_HEADS)
    for each in lines:
        saved = each.saved_dollars
        figures = (each.gigabytes, each.gigabytes_between_zones, each.cost_dollars, each.blind_dollars, saved)
        most = max(saved, saved * (1 + MOST_OVERHEAD))
        writer.writerow(
            (each.month, each.namespace, each.service, *(f"{figure:.4f}" for figure in figures), f"{most:.4f}")
        )
    return out.getvalue().rstrip("\n")


def _grown(ask: Ask, metric: str, month: Month, names: Sequence[str]) -> Sequence[Sample]:
    seconds = max(1, round(month.end_epoch_seconds - month.begin_epoch_seconds))
    return ask(f"sum by ({by(*names)}) (increase({metric}[{seconds}s]))", month.end_epoch_seconds)


def _name(labels: Mapping[str, str], names: Sequence[str]) -> tuple[str, str]:
    return label(labels, "namespace"), label(labels, "service") if "service" in names else ""
