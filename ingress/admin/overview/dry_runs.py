"""Says what the dry run of a Service would have changed: the same sentence on every page and in every command.

Remembers what was counted when a dry run began, because counters also count what was before. Time is an argument.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from ingress.admin.overview.catalog import ServiceFacts
from ingress.admin.overview.document import TriedPolicy
from ingress.admin.overview.traffic import ServiceAccount, ServiceName

MONTH_SECONDS: Final = 30 * 86400
"""Dollars a month are those of 30 days, as everywhere in the documentation."""


class DryRuns:
    """The dry runs of one replica, each from the moment in which the replica learned of it."""

    __slots__ = ("_begun",)

    def __init__(self) -> None:
        self._begun: dict[ServiceName, TriedPolicy] = {}

    def follow(
        self, services: Mapping[ServiceName, ServiceFacts], accounts: Mapping[ServiceName, ServiceAccount], now: float
    ) -> None:
        """Takes the Services that there are at `now`, and what has been counted of them until then."""
        self._begun = {
            name: self._begun.get(name) or _counted(accounts.get(name) or _NOTHING, now)
            for name, facts in services.items()
            if facts.dry_run
        }

    def of(self, name: ServiceName, account: ServiceAccount) -> TriedPolicy | None:
        """What has been counted of a Service since its dry run began; None without one."""
        begun = self._begun.get(name)
        if begun is None:
            return None
        now = _counted(account, begun.since_epoch_seconds)
        return TriedPolicy(
            since_epoch_seconds=begun.since_epoch_seconds,
            requests=now.requests - begun.requests,
            kept=now.kept - begun.kept,
            saved_dollars=now.saved_dollars - begun.saved_dollars,
        )


def dry_run_text(tried: Sequence[tuple[TriedPolicy, float]]) -> str:
    """The sentence about a dry run on one or more replicas, each with the time at which it was asked: the share of the
    requests that would have stayed, and dollars a month.
    """
    asked = [(each, now - each.since_epoch_seconds) for each, now in tried if now > each.since_epoch_seconds]
    requests = sum(each.requests for each, _ in asked)
    if not requests:
        return "dry run: no request yet"
    dollars = sum(each.saved_dollars / seconds for each, seconds in asked) * MONTH_SECONDS
    saving = f"saving ${dollars:,.2f}" if dollars > -_CENT else f"costing ${-dollars:,.2f} more"
    kept = sum(each.kept for each, _ in asked) / requests
    return f"dry run: would keep {_percent(kept)} in the zone, {saving} a month".replace("$-0.00", "$0.00")


def _percent(share: float) -> str:
    """A share of 1; 100 % is said only of everything."""
    return f"{min(share * 100, 99.9):.1f} %" if 0 < share < 1 else f"{share * 100:.0f} %"


def _counted(account: ServiceAccount, since: float) -> TriedPolicy:
    saved = account.dollars - account.dry_run_dollars
    return TriedPolicy(since, int(account.dry_run_requests), int(account.dry_run_kept), saved)


_NOTHING: Final = ServiceAccount()
_CENT: Final = 0.005
