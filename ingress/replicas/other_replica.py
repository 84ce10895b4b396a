"""Holds what one other replica has told. No I/O, no clock: times are seconds of any clock."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Final, NamedTuple

from balancer.picking.failing import EndpointPlace
from ingress.replicas.messages import FailureRow, FlowRow, Message, SeenRow
from ingress.replicas.readiness import Health
from ingress.replicas.zone_events import LeftZone

# What is older than so many periods of its sender is unknown.
_PERIODS_UP: Final = 3.0


class ReplicaState(Enum):
    """How another replica stands: heard lately, silent for three periods, or not believed."""

    UP = "up"
    SILENT = "silent"
    DISTRUSTED = "distrusted"


class SeenNews(NamedTuple):
    """What the workers of another replica saw since the message before: by how much the totals of these things have
    grown, by column, and the rows that say so.
    """

    tags: Sequence[int] = ()
    columns: Sequence[Sequence[int]] = ()
    rows: Sequence[SeenRow] = ()


NOTHING_SEEN: Final = SeenNews()
"""No row has come."""


class OtherReplica:
    """Another replica. `picks` are its totals by Service, `heard_at` is when its last message came.

    `news` is what it was asked and let pass of each client of a limit between the last message and the one before.
    `failing` are the endpoints that fail there. `loads` and `zones` are its totals of what workers saw, by tag, and
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
        self.loads: dict[int, SeenRow] = {}
        self.load_news = NOTHING_SEEN
        self.zones: dict[int, SeenRow] = {}
        self.zone_news = NOTHING_SEEN
        self.distrusted_until = float("-inf")

    def state(self, now: float) -> ReplicaState:
        """How it stands at `now`."""
        if now < self.distrusted_until:
            return ReplicaState.DISTRUSTED
        is_fresh = now - self.heard_at <= _PERIODS_UP * self.last.seconds
        return ReplicaState.UP if is_fresh else ReplicaState.SILENT
