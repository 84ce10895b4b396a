"""The backlog between the API server and the controller: the newest event of each object, however slow the reader.

Responsible for keeping no more than one event an object, in an order that means the same (K23). It must not know who
fills or empties it.
"""

from __future__ import annotations

from ingress.objects import Kind, key_of
from ingress.sources.events import Event, Removed, Replaced, Resolved, SourceFindings, Upserted

_Key = tuple[Kind, str, str]


class Backlog:
    """Events that wait to be taken. A list of a kind stands for every earlier event of it."""

    __slots__ = ("_changed", "_replaced", "_said")

    def __init__(self) -> None:
        self._replaced: dict[Kind, Replaced] = {}
        self._changed: dict[_Key, Upserted | Removed] = {}
        self._said: dict[str, Resolved | SourceFindings] = {}

    def __len__(self) -> int:
        return len(self._replaced) + len(self._changed) + len(self._said)

    def add(self, event: Event) -> None:
        """One more event, in the place of whatever it makes pointless."""
        match event:
            case Replaced():
                self._changed = {key: item for key, item in self._changed.items() if key[0] is not event.kind}
                self._replaced[event.kind] = event
            case Upserted():
                self._changed[event.object.kind, *key_of(event.object)] = event
            case Removed():
                self._changed[event.kind, event.namespace, event.name] = event
            case Resolved():
                self._said[f"name {event.name}"] = event
            case SourceFindings():
                self._said[event.source] = event

    def take(self) -> Event | None:
        """The event to apply next, None if none waits."""
        if self._replaced:
            return self._replaced.pop(next(iter(self._replaced)))
        if self._changed:
            return self._changed.pop(next(iter(self._changed)))
        return self._said.pop(next(iter(self._said))) if self._said else None
