"""Decides what the next message to one other replica holds, and when it is due. No I/O, no clock.

Only rows that have changed since the last message that arrived are told, and now and then all of them.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from itertools import compress, islice
from operator import ne
from typing import Any, Final

from ingress.replicas.messages import ROWS_MOST, Message
from ingress.replicas.seen_columns import TellingColumns

NEAR_SECONDS: Final = 1.0
"""Between messages to a replica of the same zone, unless its workers have seen much."""

NEWS_SECONDS: Final = 0.5
"""Between messages at least, but for what must be heard at once."""

FAR_SECONDS: Final = 5.0
"""Between messages to a replica of another zone, unless something has changed much."""

_ALL_EVERY: Final = 20  # messages
# A rate is known from the second message on, so the first ones follow each other sooner.
_FIRST_COUNT, _FIRST_SECONDS = 3, 1.0

Rows = Mapping[Any, Any]
"""Rows of one kind, by what each is about. They never change: another mapping follows."""

Sections = Mapping[str, Rows]
"""What a replica knows, by the name of the field of a message."""

Tables = Mapping[str, TellingColumns]
"""What its workers saw, by the name of the field of a message of schema 1."""

Wholes = Mapping[str, Any]
"""What is told as a whole when it changes, by the name of the field of a message."""


NOTHING: Final[Mapping[str, Any]] = {}
NO_TABLES: Final[Tables] = {}
"""There is nothing to tell."""
_TABLE_FIELDS: Final = {"loads": "load_table", "zones": "zone_table"}


class Outbox:
    """What one other replica was told. `is_near` says whether it is in the own zone."""

    __slots__ = (
        "_arrived",
        "_arrived_editions",
        "_arrived_wholes",
        "_count",
        "_known",
        "_told",
        "_told_editions",
        "_told_sections",
        "_told_wholes",
        "is_near",
    )

    def __init__(self) -> None:
        self.is_near = False
        self._told: dict[str, dict[Hashable, Any]] = {}
        self._arrived: dict[str, dict[Hashable, Any]] = {}
        self._told_sections: Sections = {}
        self._known: dict[str, Rows] = {}  # rows of which each has arrived, as they were given
        self._told_wholes: Wholes = {}
        self._arrived_wholes: Wholes = {}
        self._told_editions: dict[str, int] = {}
        self._arrived_editions: dict[str, int] = {}
        self._count = 0

    @property
    def seconds(self) -> float:
        """Seconds until the next message."""
        seconds = NEAR_SECONDS if self.is_near else FAR_SECONDS
        return min(seconds, _FIRST_SECONDS) if self.is_new else seconds

    @property
    def is_new(self) -> bool:
        """Whether these are the first messages."""
        return self._count < _FIRST_COUNT

    def message(
        self,
        number: int,
        *,
        name: str,
        zone: str,
        sections: Sections,
        wholes: Wholes = NOTHING,
        tables: Tables = NO_TABLES,
        is_older: bool = False,
    ) -> Message:
        """The next message. Rows beyond the bound of a message come with the next one.

        `is_older`: the other replica knows schema 1 only.
        """
        if self._count % _ALL_EVERY == 0:
            self.forget()
        self._count += 1
        self._told = {section: self._news(section, rows) for section, rows in sections.items()}
        self._told_sections = sections
        told: dict[str, Any] = {section: tuple(rows.values()) for section, rows in self._told.items()}
        told |= {name: whole for name, whole in wholes.items() if whole != self._arrived_wholes.get(name)}
        told |= self._tables_told(tables, is_older=is_older)
        self._told_wholes = wholes
        self._told_editions = {name: each.edition for name, each in tables.items()}
        told["counted"] = "picks" in sections
        return Message(number=number, name=name, zone=zone, seconds=self.seconds, **told)

    def arrived(self) -> None:
        """The last message was taken."""
        for section, rows in self._told.items():
            self._arrived.setdefault(section, {}).update(rows)
            if len(rows) < ROWS_MOST:
                self._known[section] = self._told_sections[section]
        self._arrived_wholes = self._told_wholes
        self._arrived_editions |= self._told_editions

    def forget(self) -> None:
        """Whoever is told from now on knows nothing yet."""
        self._arrived.clear()
        self._known.clear()
        self._arrived_wholes = {}
        self._arrived_editions.clear()

    def has_whole_news(self, wholes: Wholes) -> bool:
        """Whether something that is told as a whole differs from the last message that arrived."""
        arrived = self._arrived_wholes
        if wholes is arrived:  # nearly always
            return False
        return any(whole != arrived.get(name) for name, whole in wholes.items() if whole or name in arrived)

    def has_read(self, tables: Tables) -> bool:
        """Whether workers have seen something since the last message that arrived."""
        known = self._arrived_editions
        return any(known.get(name, 0) != each.edition for name, each in tables.items())

    def has_news(self, section: str, rows: Rows) -> bool:
        """Whether a row has changed since the last message that arrived."""
        arrived = self._arrived.get(section, {})
        return any(arrived.get(about) != row for about, row in rows.items())

    def _tables_told(self, tables: Tables, *, is_older: bool) -> dict[str, Any]:
        known = self._arrived_editions
        if is_older:
            return {name: each.rows_since(known.get(name, 0)) for name, each in tables.items()}
        return {_TABLE_FIELDS[name]: each.table_since(known.get(name, 0)) for name, each in tables.items()}

    def _news(self, section: str, rows: Rows) -> dict[Hashable, Any]:
        if rows is self._known.get(section):
            return {}
        arrived = self._arrived.get(section, {})
        are_new = map(ne, map(arrived.get, rows), rows.values())
        return dict(islice(compress(rows.items(), are_new), ROWS_MOST))
