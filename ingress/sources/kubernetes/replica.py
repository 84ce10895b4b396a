"""Remembers which version of each object of a scope was reported, so that nothing is reported twice.

Decides what a list or an event of a watch changes. Holds only versions; the listener has the objects. Does not know how
events come.
"""

from __future__ import annotations

from collections.abc import Iterable

from ingress.sources.kubernetes.decoding import Bookmark, Changed, Deleted, Identity, Item, Passed, Unreadable
from ingress.sources.kubernetes.resources import Scope
from ingress.sources.kubernetes.scope_events import (
    ScopeEvent,
    ScopeRemoved,
    ScopeReplaced,
    ScopeUnreadable,
    ScopeUpserted,
)


class Replica:
    """The uid and version of each object that was reported, by namespace and name."""

    __slots__ = ("_known", "_scope", "latest")

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._known: dict[tuple[str, str], tuple[str, str]] = {}
        self.latest = ""
        """Everything up to this version was reported."""

    def __len__(self) -> int:
        return len(self._known)

    def replace(self, items: Iterable[Item | Passed], version: str) -> ScopeReplaced:
        """Takes a whole list as the new state, even if its version is older than the known state."""
        named = {item.identity.key: item for item in items if item.identity.name}
        nameless = [item for item in items if not item.identity.name]
        self._known = {key: (item.identity.uid, item.identity.version) for key, item in named.items()}
        self.latest = version
        contents = [item.content for item in (*named.values(), *nameless) if isinstance(item, Item)]
        return ScopeReplaced(
            self._scope,
            tuple(content for content in contents if not isinstance(content, Unreadable)),
            tuple(content for content in contents if isinstance(content, Unreadable)),
            version,
            passed_by=tuple(key for key, item in named.items() if isinstance(item, Passed)),
        )

    def apply(self, event: Changed | Deleted | Bookmark) -> ScopeEvent | None:
        """The news in an event of a watch that began at `latest`; None if there is none, or the object is not kept."""
        match event:
            case Bookmark(version):
                if not self._is_past(Identity(version=version)):
                    self.latest = version or self.latest
                return None
            case Deleted(identity):
                return self._deleted(identity)
            case Changed(item):
                return self._changed(item)

    def _changed(self, item: Item | Passed) -> ScopeEvent | None:
        identity = item.identity
        if self._is_past(identity):
            return None
        self.latest = identity.version or self.latest
        if identity.name:
            self._known[identity.key] = identity.uid, identity.version
        if isinstance(item, Passed):
            return None
        if isinstance(item.content, Unreadable):
            return ScopeUnreadable(self._scope, item.content)
        return ScopeUpserted(self._scope, item.content)

    def _deleted(self, identity: Identity) -> ScopeEvent | None:
        known_uid, _ = self._known.get(identity.key, ("", ""))
        if self._is_past(identity):
            return None
        self.latest = identity.version or self.latest
        if identity.key not in self._known or (known_uid and identity.uid and known_uid != identity.uid):
            return None
        del self._known[identity.key]
        return ScopeRemoved(self._scope, identity.namespace, identity.name)

    def _is_past(self, identity: Identity) -> bool:
        # Versions of one kind grow and may be compared as numbers (KEP-5504). Other texts are compared only for
        # equality.
        version = identity.version
        if version.isdecimal() and self.latest.isdecimal():
            return (len(version), version) <= (len(self.latest), self.latest)
        return bool(version) and self._known.get(identity.key) == (identity.uid, version)
