"""Counts what the dry run of a Service would have changed.

Remembers what was counted when a dry run began, because counters also count what was before. Time is an argument.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ingress.admin.overview.catalog import ServiceFacts
from ingress.admin.overview.document import TriedPolicy
from ingress.admin.overview.traffic import ServiceAccount, ServiceName


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


def _counted(account: ServiceAccount, since: float) -> TriedPolicy:
    saved = account.dollars - account.dry_run_dollars
    return TriedPolicy(since, int(account.dry_run_requests), int(account.dry_run_kept), saved)


_NOTHING: Final = ServiceAccount()
