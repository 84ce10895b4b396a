"""Defines the four phases of the demo: what changes in each, and how its result is judged.

Judges a phase by both accounts, the clients' and the ingress's own. Does not know how a change is made, sent or shown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec

from ingress.demo.live import a_month
from ingress.demo.observing import RequestCounts
from ingress.demo.traffic import Tally


class DemoPhase(msgspec.Struct, frozen=True):
    """A part of the demo. `says` is one sentence about it, in which `{zone}` is the own zone."""

    name: str
    says: str
    zone_aware: bool
    own_zone_up: bool


PHASES = (
    DemoPhase("flag-off", "The flag is off: requests go round every endpoint of every zone.", False, True),
    DemoPhase("flag-on", "The flag is on: requests stay in {zone}.", True, True),
    DemoPhase("zone-down", "The endpoints of {zone} are gone: the other zones answer.", True, False),
    DemoPhase("zone-back", "The endpoints of {zone} are back: requests come home.", True, True),
)


class ChangeTraffic(msgspec.Struct, frozen=True):
    """The traffic during a phase's change."""

    requests: int
    failed: int


class PhaseResult(msgspec.Struct, frozen=True):
    """The result of one phase. `local_share` is 0 to 1. Zones and reasons without requests are left out.

    `dollars` is what the bytes of its requests cost between zones, `blind_dollars` what they had cost without zones.
    """

    name: str
    requests: int
    failed: int
    by_to_zone: dict[str, int]
    local_share: float
    reasons: dict[str, int]
    change: ChangeTraffic
    dollars: float = 0.0
    blind_dollars: float = 0.0


class Summary(msgspec.Struct, frozen=True):
    """What `zonal demo --requests N --json` prints. `grpc` are the results of the calls in the same phases."""

    own_zone: str
    phases: tuple[PhaseResult, ...]
    grpc: tuple[PhaseResult, ...]

    @property
    def has_failures(self) -> bool:
        return any(phase.failed or phase.change.failed for phase in (*self.phases, *self.grpc))


def result_of(phase: DemoPhase, *, own_zone: str, tally: Tally, account: RequestCounts, change: Tally) -> PhaseResult:
    """The result of a phase: zones as the answers named them, reasons as the ingress counted them.

    If the two accounts differ, the difference counts as failed requests, because one account is wrong. They are
    compared only if every request was answered, because a failed request names no zone.
    """
    disagreement = 0 if tally.failed else _disagreement(tally.by_zone, account.by_zone)
    return PhaseResult(
        name=phase.name,
        requests=tally.requests,
        failed=tally.failed + disagreement,
        by_to_zone=dict(sorted(tally.by_zone.items())),
        local_share=tally.by_zone[own_zone] / tally.requests if tally.requests else 0.0,
        reasons=dict(sorted(account.reasons.items())),
        change=ChangeTraffic(requests=change.requests, failed=change.failed),
        dollars=account.dollars,
        blind_dollars=account.blind_dollars,
    )


def summary_table(summary: Summary) -> str:
    """The summary for people: one line for each phase, and below it one for its gRPC calls."""
    rows = [_HEADINGS]
    for phase, calls in zip(summary.phases, summary.grpc, strict=True):
        rows += [_row(phase, phase.name), _row(calls, "  gRPC")]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows)
    return "\n".join((f"Own zone: {summary.own_zone}", "", *lines, "", _MEANING))


_RATE = 1000.0  # requests a second
_MEANING = "Dollars are those of 30 days at 1,000 requests/s; saved: what a proxy without zones costs more."
_HEADINGS: Sequence[str] = (
    "phase",
    "requests",
    "failed",
    "local",
    "$/month",
    "saved",
    "to zone",
    "reason",
    "during the change",
)


def _row(result: PhaseResult, name: str) -> Sequence[str]:
    return (
        name,
        str(result.requests),
        str(result.failed),
        f"{result.local_share:.0%}",
        _a_month(result.dollars, result.requests),
        _a_month(result.blind_dollars - result.dollars, result.requests),
        _counts(result.by_to_zone),
        _counts(result.reasons),
        f"{result.change.requests} requests, {result.change.failed} failed",
    )


def _a_month(dollars: float, requests: int) -> str:
    """Dollars of a month with many requests like these few, whose bytes cost next to nothing."""
    return f"{a_month(dollars, requests / _RATE) + 0.0:,.2f}" if requests else "-"


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items())


def _disagreement(seen: Counter[str], counted: Mapping[str, int]) -> int:
    return max((seen - Counter(counted)).total(), (Counter(counted) - seen).total())
