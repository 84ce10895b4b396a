"""Holds what one other replica has told. No I/O, no clock: times are seconds of any clock."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Final, NamedTuple

from balancer.picking.failing import EndpointPlace
from ingress.replicas.messages import FailureRow, FlowRow, Message
from ingress.replicas.readiness import Health
from ingress.replicas.seen_columns import Column, SeenColumns
from ingress.replicas.zone_events import LeftZone

# What is older than so many periods of its sender is unknown.
_PERIODS_UP: Final = 3.0


class ReplicaState(Enum):
    """How another replica stands: heard lately, silent for three periods, or not believed."""

    UP = "up"
    SILENT = "silent"
    DISTRUSTED = "distrusted"


class SeenNews(NamedTuple):
    """What the workers of another replica have `seen`, and by how much its totals have grown since the message before,
    by column.
    """

    seen: SeenColumns = SeenColumns()
    grown: Sequence[Column] = ()


NOTHING_SEEN: Final = SeenNews()
"""No row has come."""


class KnownTotals:
    """The newest totals of what the workers of another replica saw, by tag."""

    __slots__ = ("_last", "_rows")

    def __init__(self) -> None:
        self._last = SeenColumns()
        self._rows: dict[int, Sequence[float]] = {}  # of all things; those of the last message are in `_last`

    def within_bound(self, seen: SeenColumns, most: int) -> SeenColumns:
        """The rows of `seen` with which no more than so many things are known."""
        room = most - len(self._rows)
        if room >= len(seen.tags):
            return seen
        fresh = [tag for tag in seen.tags if tag not in self._rows]
        left_out = frozenset(fresh[max(0, room) :])
        return seen.chosen([tag not in left_out for tag in seen.tags], 0)

    def before(self, seen: SeenColumns) -> Sequence[Column]:
        """The totals of the same things that were told before, by column: what is `seen` of those that are new."""
        last = self._last
        if seen.tags == last.tags:  # nearly always: all that had requests have them again
            return last.totals
        self._rows.update(zip(last.tags, zip(*last.totals, strict=True), strict=True))
        rows = map(self._rows.get, seen.tags, zip(*seen.totals, strict=True))
        return [*zip(*rows, strict=True)]

    def learn(self, seen: SeenColumns) -> None:
        """Takes what is told now."""
        if not seen.tags:
            return
        if seen.tags != self._last.tags:
            for each in (self._last, seen):
                self._rows.update(zip(each.tags, zip(*each.totals, strict=True), strict=True))
        self._last = seen

    def __len__(self) -> int:
        """How many things are known."""
        return len(self._rows)


class OtherReplica:
    """Another replica. `picks` are its totals by Service, `heard_at` is when its last message came.

    `news` is what it was asked and let pass of each client of a limit between the last message and the one before.
    `failing` are the endpoints that fail there. `loads` and `zones` are its totals of what workers saw, and
    `load_news` and `zone_news` what came of that with the last message. `left` are zones that requests leave there, and
    `health` how its answers were lately. `flows` are its requests by zones.
    """

    __slots__ = (
        "distrusted_until",
        "failing",
        "flows",
        "health",
        "heard_at",
        "last",
        "left",
        "load_news",
        "loads",
        "news",
        "picks",
        "spent",
        "zone_news",
        "zones",
    )

    def __init__(self) -> None:
        self.last = Message(number=1)
        self.heard_at = float("-inf")
        self.picks: dict[str, int] = {}
        self.spent: dict[tuple[int, int], tuple[int, int]] = {}
        self.news: dict[tuple[int, int], tuple[int, int]] = {}
        self.failing: dict[EndpointPlace, FailureRow] = {}
        self.flows: dict[tuple[str, str], FlowRow] = {}
        self.left: frozenset[LeftZone] = frozenset()
        self.health = Health()
        self.loads = KnownTotals()
        self.load_news = NOTHING_SEEN
        self.zones = KnownTotals()
        self.zone_news = NOTHING_SEEN
        self.distrusted_until = float("-inf")

    def state(self, now: float) -> ReplicaState:
        """How it stands at `now`."""
        if now < self.distrusted_until:
            return ReplicaState.DISTRUSTED
        is_fresh = now - self.heard_at <= _PERIODS_UP * self.last.seconds
        return ReplicaState.UP if is_fresh else ReplicaState.SILENT
