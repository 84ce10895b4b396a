"""Holds what one other replica has told. No I/O, no clock: times are seconds of any clock."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Final, NamedTuple

from balancer.picking.failing import EndpointPlace
from balancer.sharing.sums import Column
from ingress.replicas.allowances import ReadingBudget
from ingress.replicas.messages import FLOWS_MOST, FailureRow, FlowRow, Message
from ingress.replicas.readiness import Health
from ingress.replicas.recent import RecentRows
from ingress.replicas.seen_columns import SeenColumns
from ingress.replicas.zone_events import LeftZone

# What is older than so many periods of its sender is unknown.
_PERIODS_UP: Final = 3.0
_CLIENTS_MOST: Final = 16_384


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
    """The newest totals of what the workers of another replica saw lately, by tag."""

    __slots__ = ("_earlier", "_last")

    def __init__(self) -> None:
        self._last = SeenColumns()
        self._earlier = RecentRows[int, Sequence[float]]()  # told before the last message

    def learn(self, seen: SeenColumns) -> Sequence[Column]:
        """Takes what is told now. Returns the totals of the same things that were told before, by column: of those that
        are new what is `seen`.
        """
        last = self._last
        self._last = seen
        if seen.tags == last.tags:  # nearly always: all that had requests have them again
            return last.totals
        self._earlier.learn(dict(zip(last.tags, zip(*last.totals, strict=True), strict=True)))
        rows = map(self._earlier.rows.get, seen.tags, zip(*seen.totals, strict=True))
        return [*zip(*rows, strict=True)]

    def first(self, tag: int) -> float | None:
        """The first total of a thing; None if it is not known."""
        last = self._last
        if tag in last.tags:
            return last.totals[0][last.tags.index(tag)]
        earlier = self._earlier.rows.get(tag)
        return None if earlier is None else earlier[0]

    def __len__(self) -> int:
        """How many things are known."""
        return len(self._earlier.rows.keys() | {*self._last.tags})


class OtherReplica:
    """Another replica. `picks` are its totals by Service, `heard_at` is when its last message came. `is_new` until it
    has told something since it is believed.

    `news` is what it was asked and let pass of each client of a limit between the last message and the one before.
    `failing` are the endpoints that fail there. `loads` and `zones` are its totals of what workers saw, and
    `load_news` and `zone_news` what came of that with the last message. `left` are zones that requests leave there, and
    `health` how its answers were lately. `flows` are its requests by zones.

    `budget` is how much of it is read.
    """

    __slots__ = (
        "budget",
        "distrusted_until",
        "failing",
        "flows",
        "health",
        "heard_at",
        "is_new",
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
        self.budget = ReadingBudget()
        self.last = Message(number=1)
        self.heard_at = float("-inf")
        self.distrusted_until = float("-inf")
        self.drop()

    def drop(self) -> None:
        """Forgets what it told."""
        self.is_new = True
        self.picks = RecentRows[str, int]()
        self.spent = RecentRows[tuple[int, int], tuple[int, int]](_CLIENTS_MOST)
        self.news: dict[tuple[int, int], tuple[int, int]] = {}
        self.failing: dict[EndpointPlace, FailureRow] = {}
        self.flows = RecentRows[tuple[str, str], FlowRow](FLOWS_MOST)
        self.left: frozenset[LeftZone] = frozenset()
        self.health = Health()
        self.loads = KnownTotals()
        self.load_news = NOTHING_SEEN
        self.zones = KnownTotals()
        self.zone_news = NOTHING_SEEN

    def state(self, now: float) -> ReplicaState:
        """How it stands at `now`."""
        if now < self.distrusted_until:
            return ReplicaState.DISTRUSTED
        is_fresh = now - self.heard_at <= _PERIODS_UP * self.last.seconds
        return ReplicaState.UP if is_fresh else ReplicaState.SILENT
