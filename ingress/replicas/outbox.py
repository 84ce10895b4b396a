"""Decides what the next message to one other replica holds, and when it is due. No I/O, no clock.

Only totals that have changed since the last message that arrived are told, and now and then all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Final

from ingress.replicas.messages import ROWS_MOST, Message, Picks, SpentRow

NEAR_SECONDS: Final = 0.5
"""Between messages to a replica of the same zone."""

FAR_SECONDS: Final = 5.0
"""Between messages to a replica of another zone, unless something has changed much."""

_ALL_EVERY: Final = 20  # messages
# A rate is known from the second message on, so the first ones follow each other sooner.
_FIRST_COUNT, _FIRST_SECONDS = 3, 1.0


class Outbox:
    """What one other replica was told. `is_near` says whether it is in the own zone."""

    __slots__ = ("_arrived", "_arrived_spent", "_count", "_told", "_told_spent", "is_near")

    def __init__(self) -> None:
        self.is_near = False
        self._told: dict[str, int] = {}
        self._arrived: dict[str, int] = {}
        self._told_spent: dict[tuple[int, int], SpentRow] = {}
        self._arrived_spent: dict[tuple[int, int], SpentRow] = {}
        self._count = 0

    @property
    def seconds(self) -> float:
        """Seconds until the next message."""
        seconds = NEAR_SECONDS if self.is_near else FAR_SECONDS
        return seconds if self._count >= _FIRST_COUNT else min(seconds, _FIRST_SECONDS)

    def message(
        self, number: int, *, name: str, zone: str, totals: Mapping[str, int], spent: Sequence[SpentRow] = ()
    ) -> Message:
        """The next message. Rows beyond the bound of a message come with the next one."""
        if self._count % _ALL_EVERY == 0:
            self._arrived.clear()
            self._arrived_spent.clear()
        self._count += 1
        news = ((service, total) for service, total in totals.items() if self._arrived.get(service) != total)
        self._told = dict(islice(news, ROWS_MOST))
        spendings = (row for row in spent if self._arrived_spent.get((row.limit, row.key)) != row)
        self._told_spent = {(row.limit, row.key): row for row in islice(spendings, ROWS_MOST)}
        return Message(
            number=number,
            name=name,
            zone=zone,
            seconds=self.seconds,
            picks=_rows(self._told.items()),
            spent=tuple(self._told_spent.values()),
        )

    def arrived(self) -> None:
        """The last message was taken."""
        self._arrived.update(self._told)
        self._arrived_spent.update(self._told_spent)

    def has_news(self, spent: Sequence[SpentRow]) -> bool:
        """Whether a client has spent something since the last message that arrived."""
        return any(self._arrived_spent.get((row.limit, row.key)) != row for row in spent)


def _rows(totals: Iterable[tuple[str, int]]) -> tuple[Picks, ...]:
    return tuple(Picks(service, total) for service, total in totals)
