"""Counts the changes of an inventory, and says when each object changed last.

Who has read an object can so tell later whether it has changed, without keeping or comparing it. A new resourceVersion
alone is no change. Does not know what an object holds.
"""

from __future__ import annotations

from ingress.objects.kinds import Kind

Key = tuple[str, str]

Look = tuple[Kind | None, Key | None]
"""What was looked for: an object by kind, namespace and name, or with the key None all objects of the kind. The slices
of a Service have the key of the Service. The kind None stands for addresses of DNS names."""


class ChangeStamps:
    """A stamp is the number of changes until then."""

    __slots__ = ("_at", "_newest", "_since", "now")

    def __init__(self) -> None:
        self.now = 0
        self._newest: dict[Kind | None, int] = {}
        self._since: dict[Kind | None, int] = {}
        self._at: dict[Kind | None, dict[Key, int]] = {}

    def note(self, kind: Kind | None, key: Key) -> None:
        """Notes that an object has changed, has come or is gone."""
        self.now += 1
        self._newest[kind] = self.now
        self._at.setdefault(kind, {})[key] = self.now

    def note_all(self, kind: Kind) -> None:
        """Notes that every object of a kind may have changed. Takes less room than to note each."""
        self.now += 1
        self._newest[kind] = self._since[kind] = self.now
        self._at.pop(kind, None)

    def kinds_after(self, stamp: int) -> frozenset[Kind | None]:
        """The kinds of the objects that have changed since `stamp`."""
        return frozenset(kind for kind, newest in self._newest.items() if newest > stamp)

    def changed_after(self, stamp: int, look: Look) -> bool:
        """Whether what was looked for at `stamp` has changed since."""
        kind, key = look
        if self._newest.get(kind, 0) <= stamp:
            return False
        if key is None or self._since.get(kind, 0) > stamp:
            return True
        return self._at.get(kind, {}).get(key, 0) > stamp
