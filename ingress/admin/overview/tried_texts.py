"""Says what the dry run of a Service would have changed: the same sentence on every page and in every command.

Pure. Does not know who counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from balancer.zones.cost import MONTH_SECONDS
from ingress.admin.overview.document import TriedPolicy

_CENT: Final = 0.005


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
    return f"dry run: would keep {percentage(kept)} % in the zone, {saving} a month".replace("$-0.00", "$0.00")


def percentage(share: float) -> str:
    """A share of 1 in percent, without the sign. 100 is said only of everything, and 0 of nothing."""
    return f"{min(share * 100, 99.9):.1f}" if 0 < share < 1 else f"{share * 100:.0f}"
