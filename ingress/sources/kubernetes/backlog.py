"""Queues events between the API server and the controller: only the newest event of each object.

So a slow reader does not make the queue grow. Events that it leaves out or reorders do not change the result. Does not
know who fills or empties the queue.
"""

from __future__ import annotations

from collections.abc import Collection

from ingress.objects.kinds import Kind, key_of
from ingress.sources.events import Event, Provisioned, Removed, Replaced, Resolved, SourceFindings, Upserted

_Key = tuple[Kind, str, str]


class Backlog:
    """Events that wait for the controller. A list of a kind replaces every earlier event of the kind.

    Events about grants come first: what another namespace no longer allows must not wait behind other changes.
    """

    __slots__ = ("_changed", "_grants", "_replaced", "_said")

    def __init__(self) -> None:
        self._replaced: dict[Kind, Replaced] = {}
        self._grants: dict[_Key, Upserted | Removed] = {}
        self._changed: dict[_Key, Upserted | Removed] = {}
        self._said: dict[str, Resolved | SourceFindings | Provisioned] = {}

    def __len__(self) -> int:
        return len(self._replaced) + len(self._grants) + len(self._changed) + len(self._said)

    def add(self, event: Event) -> None:
        """Adds one event and removes the events that it makes obsolete."""
        match event:
            case Replaced():
                self._forget(event.kind)
                self._replaced[event.kind] = event
            case Upserted():
                self._of(event.object.kind)[event.object.kind, *key_of(event.object)] = event
            case Removed():
                self._of(event.kind)[event.kind, event.namespace, event.name] = event
            case Resolved():
                self._said[f"name {event.namespace}/{event.name}"] = event
            case SourceFindings():
                self._said[event.source] = event
            case Provisioned():
                self._said["provisioned"] = event

    def holds(self, kinds: Collection[Kind]) -> bool:
        """Whether any event about these kinds waits."""
        changes = (self._grants, self._changed)
        return any(kind in self._replaced for kind in kinds) or any(key[0] in kinds for each in changes for key in each)

    def take(self) -> Event | None:
        """The event to apply next, or None if none waits."""
        if Kind.REFERENCE_GRANT in self._replaced:
            return self._replaced.pop(Kind.REFERENCE_GRANT)
        if self._grants:
            return self._grants.pop(next(iter(self._grants)))
        if self._replaced:
            return self._replaced.pop(next(iter(self._replaced)))
        if self._changed:
            return self._changed.pop(next(iter(self._changed)))
        return self._said.pop(next(iter(self._said))) if self._said else None

    def _of(self, kind: Kind) -> dict[_Key, Upserted | Removed]:
        return self._grants if kind is Kind.REFERENCE_GRANT else self._changed

    def _forget(self, kind: Kind) -> None:
        """A list of the kind makes what has changed before obsolete."""
        if kind is Kind.REFERENCE_GRANT:
            self._grants.clear()
        else:
            self._changed = {key: item for key, item in self._changed.items() if key[0] is not kind}
