"""The four phases of the demo: what changes in each, and what is said of it afterwards.

Responsible for the story and for judging a phase from both accounts, the clients' and the ingress' own. It must not
know how a change is made, sent or shown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec

from ingress.demo.observing import Account
from ingress.demo.traffic import Tally


class Phase(msgspec.Struct, frozen=True):
    """A part of the demo; `says` is one sentence on what happens in it, in which `{zone}` is the own zone."""

    name: str
    says: str
    zone_aware: bool
    own_zone_up: bool


PHASES = (
    Phase("flag-off", "The flag is off: requests go round every endpoint of every zone.", False, True),
    Phase("flag-on", "The flag is on: requests stay in {zone}.", True, True),
    Phase("zone-down", "The endpoints of {zone} are gone: the other zones answer.", True, False),
    Phase("zone-back", "The endpoints of {zone} are back: requests come home.", True, True),
)


class Change(msgspec.Struct, frozen=True):
    """The traffic that went on while a phase's change happened."""

    requests: int
    failed: int


class PhaseResult(msgspec.Struct, frozen=True):
    """One phase of the summary. `local_share` is 0 to 1; zones and reasons without requests are left out."""

    name: str
    requests: int
    failed: int
    by_to_zone: dict[str, int]
    local_share: float
    reasons: dict[str, int]
    change: Change


class Summary(msgspec.Struct, frozen=True):
    """What `zonal demo --requests N --json` prints."""

    own_zone: str
    phases: tuple[PhaseResult, ...]

    @property
    def has_failures(self) -> bool:
        return any(phase.failed or phase.change.failed for phase in self.phases)


def result_of(phase: Phase, *, own_zone: str, tally: Tally, account: Account, change: Tally) -> PhaseResult:
    """What is said of a phase: zones as the answers named them, reasons as the ingress counted them.

    A request that the two accounts do not agree on counts as failed, for one of them is wrong; they are compared only
    where every request was answered, because a failed one names no zone.
    """
    disagreement = 0 if tally.failed else _disagreement(tally.by_zone, account.by_zone)
    return PhaseResult(
        name=phase.name,
        requests=tally.requests,
        failed=tally.failed + disagreement,
        by_to_zone=dict(sorted(tally.by_zone.items())),
        local_share=tally.by_zone[own_zone] / tally.requests if tally.requests else 0.0,
        reasons=dict(sorted(account.reasons.items())),
        change=Change(requests=change.requests, failed=change.failed),
    )


def summary_table(summary: Summary) -> str:
    """The summary for people: a line for each phase."""
    rows = [_HEADINGS, *map(_row, summary.phases)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows)
    return "\n".join((f"Own zone: {summary.own_zone}", "", *lines))


_HEADINGS = ("phase", "requests", "failed", "local", "to zone", "reason", "during the change")


def _row(result: PhaseResult) -> Sequence[str]:
    return (
        result.name,
        str(result.requests),
        str(result.failed),
        f"{result.local_share:.0%}",
        _counts(result.by_to_zone),
        _counts(result.reasons),
        f"{result.change.requests} requests, {result.change.failed} failed",
    )


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items())


def _disagreement(seen: Counter[str], counted: Mapping[str, int]) -> int:
    return max((seen - Counter(counted)).total(), (Counter(counted) - seen).total())
