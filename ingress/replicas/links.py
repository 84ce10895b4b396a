"""Compares how this replica and others are answered, namespace by namespace, and tells the others. No I/O, no clock."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from ingress.replicas.messages import HealthRow
from ingress.replicas.other_replica import OtherReplica
from ingress.replicas.readiness import Health, LinkJudge, OtherHealth, health_rows

# How often own answers are counted.
_COUNT_SECONDS: Final = 2.0

AnswersOf = Callable[[], Mapping[str, tuple[int, int]]]
"""The answers of this replica so far by namespace, and those of them for which no endpoint answered."""


class LinkSharing:
    """Whether the links of this replica are sick (`judge`). `rows` is what is told to others."""

    __slots__ = ("_answers", "_counted_at", "_health", "judge", "rows")

    def __init__(self, answers: AnswersOf, identity: str) -> None:
        """`identity` is that of this replica."""
        self._answers = answers
        self._health = Health()
        self._counted_at = float("-inf")
        self.judge = LinkJudge(identity)
        self.rows: Mapping[str, HealthRow] = {}

    def turn(self, believed: Mapping[str, OtherReplica], now: float) -> None:
        """Judges by what the replicas that are believed have told. Without any, the links are not sick."""
        if not believed:
            self.judge.turn(self._health, (), now)
            self.rows = {}
        elif now - self._counted_at >= _COUNT_SECONDS:
            self._counted_at = now
            self.rows = health_rows(self._answers())
            self._health.learn(self.rows.values(), now)
            others = [OtherHealth(name, each.health, each.last.away) for name, each in believed.items()]
            self.judge.turn(self._health, others, now)
