"""Decides what the next message to one other replica holds, and when it is due. No I/O, no clock.

Only rows that have changed since the last message that arrived are told, and now and then all of them.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from itertools import islice
from typing import Any, Final

from ingress.replicas.messages import ROWS_MOST, Message

NEAR_SECONDS: Final = 0.5
"""Between messages to a replica of the same zone."""

FAR_SECONDS: Final = 5.0
"""Between messages to a replica of another zone, unless something has changed much."""

_ALL_EVERY: Final = 20  # messages
# A rate is known from the second message on, so the first ones follow each other sooner.
_FIRST_COUNT, _FIRST_SECONDS = 3, 1.0

Rows = Mapping[Any, Any]
"""Rows of one kind, by what each is about."""

Sections = Mapping[str, Rows]
"""What a replica knows, by the name of the field of a message."""


Wholes = Mapping[str, Any]
"""What is told as a whole when it changes, by the name of the field of a message."""


_NOTHING: Final[Wholes] = {}


class Outbox:
    """What one other replica was told. `is_near` says whether it is in the own zone."""

    __slots__ = ("_arrived", "_arrived_wholes", "_count", "_told", "_told_wholes", "is_near")

    def __init__(self) -> None:
        self.is_near = False
        self._told: dict[str, dict[Hashable, Any]] = {}
        self._arrived: dict[str, dict[Hashable, Any]] = {}
        self._told_wholes: Wholes = {}
        self._arrived_wholes: Wholes = {}
        self._count = 0

    @property
    def seconds(self) -> float:
        """Seconds until the next message."""
        seconds = NEAR_SECONDS if self.is_near else FAR_SECONDS
        return seconds if self._count >= _FIRST_COUNT else min(seconds, _FIRST_SECONDS)

    def message(self, number: int, *, name: str, zone: str, sections: Sections, wholes: Wholes = _NOTHING) -> Message:
        """The next message. Rows beyond the bound of a message come with the next one."""
        if self._count % _ALL_EVERY == 0:
            self._arrived.clear()
            self._arrived_wholes = {}
        self._count += 1
        self._told = {section: self._news(section, rows) for section, rows in sections.items()}
        told: dict[str, Any] = {section: tuple(rows.values()) for section, rows in self._told.items()}
        told |= {name: whole for name, whole in wholes.items() if whole != self._arrived_wholes.get(name)}
        self._told_wholes = wholes
        return Message(number=number, name=name, zone=zone, seconds=self.seconds, **told)

    def arrived(self) -> None:
        """The last message was taken."""
        for section, rows in self._told.items():
            self._arrived.setdefault(section, {}).update(rows)
        self._arrived_wholes = self._told_wholes

    def forget(self) -> None:
        """Whoever is told from now on knows nothing yet."""
        self._arrived.clear()
        self._arrived_wholes = {}

    def has_whole_news(self, wholes: Wholes) -> bool:
        """Whether something that is told as a whole differs from the last message that arrived."""
        arrived = self._arrived_wholes
        return any(whole != arrived.get(name) for name, whole in wholes.items() if whole or name in arrived)

    def has_news(self, section: str, rows: Rows) -> bool:
        """Whether a row has changed since the last message that arrived."""
        arrived = self._arrived.get(section, {})
        return any(arrived.get(about) != row for about, row in rows.items())

    def _news(self, section: str, rows: Rows) -> dict[Hashable, Any]:
        arrived = self._arrived.get(section, {})
        return dict(islice(((about, row) for about, row in rows.items() if arrived.get(about) != row), ROWS_MOST))
