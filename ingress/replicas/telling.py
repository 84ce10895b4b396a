"""Decides when one other replica is told something, and what. No I/O, no clock: times are seconds of any clock."""

from __future__ import annotations

from typing import Final, NamedTuple

from ingress.replicas.messages import Message
from ingress.replicas.outbox import FAR_SECONDS, NEWS_SECONDS, NO_TABLES, NOTHING, Outbox, Sections, Tables
from ingress.replicas.sharing import FleetSharing

# A message comes early, but not earlier than this, if a rate has moved.
_EARLY_SECONDS: Final = 1.0
# News of failing endpoints come early as well, but not earlier than this after a regular message.
_FAILING_SECONDS: Final = 0.2


class News(NamedTuple):
    """What the next message shall tell as far as it is new there."""

    sections: Sections = NOTHING
    tables: Tables = NO_TABLES


class Telling:
    """What one other replica is told of what `sharing` knows."""

    __slots__ = ("_edition", "_outbox", "_picks_at", "_sharing", "_told_at")

    def __init__(self, sharing: FleetSharing) -> None:
        self._sharing = sharing
        self._outbox = Outbox()
        self._edition = 0  # of the rates that were told last
        self._picks_at = float("-inf")
        self._told_at = float("-inf")

    def due(self, now: float) -> News | None:
        """What to tell now; None if nothing is due. Of new clients of limits everybody hears at once."""
        since, sharing, outbox = now - self._told_at, self._sharing, self._outbox
        has_moved = self._edition != sharing.traffic.edition
        tables = sharing.tables if outbox.is_near else NO_TABLES
        is_due = (
            since >= outbox.seconds
            or (since >= _EARLY_SECONDS and has_moved)
            or (since >= NEWS_SECONDS and (outbox.has_read(tables) or outbox.has_news("spent", sharing.limits.spent)))
        )
        if is_due:
            self._told_at = now
            sections = sharing.sections
            if has_moved or outbox.is_new or now - self._picks_at >= FAR_SECONDS:
                self._edition = sharing.traffic.edition
                self._picks_at = now
            else:
                sections = {section: rows for section, rows in sections.items() if section != "picks"}
            return News(sections, tables)
        if sharing.limits.fresh:
            return News({"spent": sharing.limits.fresh})
        return News() if since >= _FAILING_SECONDS and outbox.has_whole_news(sharing.wholes) else None

    def message(self, number: int, news: News, *, name: str, is_older: bool) -> Message:
        """The message that tells `news`. `name` is that of this replica; `is_older`: the other one knows schema 1."""
        return self._outbox.message(
            number,
            name=name,
            zone=self._sharing.own_zone,
            sections=news.sections,
            wholes=self._sharing.wholes,
            tables=news.tables,
            is_older=is_older,
        )

    def arrived(self, zone: str) -> None:
        """The last message was taken by a replica in `zone`."""
        self._outbox.arrived()
        self._outbox.is_near = zone == self._sharing.own_zone

    def forget(self) -> None:
        """Whoever is told from now on knows nothing yet."""
        self._outbox.forget()
        self._picks_at = float("-inf")
