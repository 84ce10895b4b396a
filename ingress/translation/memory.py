"""Remembers what a translation made of objects, so that the next one makes only what may differ.

What is remembered holds as long as everything holds that it was made of: the values that it was given, and the objects
that it looked for. Its findings are repeated. Does not know what is made.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable
from typing import Generic, TypeVar, cast

from ingress.findings import Findings, Severity, Subject
from ingress.objects.kinds import Kind
from ingress.sources.change_stamps import Look
from ingress.sources.inventory import Inventory
from ingress.sources.recorded import RecordedInventory

_Made = TypeVar("_Made")


Notes = tuple[tuple[Subject, str, str, str, Severity], ...]
"""Findings in their order: subject, reason, message, effect, severity."""


class FindingNotes(Findings):
    """Findings about one thing that is made. `notes` are they in their order, to be repeated."""

    __slots__ = ("notes",)

    def __init__(self) -> None:
        super().__init__()
        self.notes: Notes = ()

    def add(self, subject: Subject, *, reason: str, message: str, effect: str, severity: Severity) -> None:
        """As in `Findings`. What would not be kept there is not repeated."""
        count = len(self._found)
        super().add(subject, reason=reason, message=message, effect=effect, severity=severity)
        if len(self._found) > count:
            self.notes += ((subject, reason, message, effect, severity),)


def repeat(notes: Notes, into: Findings) -> None:
    """Adds each of the findings to `into`."""
    for subject, reason, message, effect, severity in notes:
        into.add(subject, reason=reason, message=message, effect=effect, severity=severity)


Looks = tuple[frozenset[Kind | None], tuple[Look, ...]]
"""What was looked for, and the kinds of that."""


class _Kept(Generic[_Made]):
    """What was made, of which values and looks, with which findings, and the stamp at which that held."""

    __slots__ = ("findings", "given", "kinds", "looks", "made", "stamp")

    def __init__(self, made: _Made, given: tuple[object, ...], looks: Looks, findings: Notes, stamp: int) -> None:
        self.made = made
        self.given = given
        self.kinds = looks[0]
        self.looks = looks[1]
        self.findings = findings
        self.stamp = stamp


class InventoryView:
    """An inventory during one translation, as memories read it."""

    __slots__ = ("_changed", "_shared", "holds_back", "recorded", "stamps")

    def __init__(self, inventory: Inventory) -> None:
        self.recorded = RecordedInventory(inventory)
        self.stamps = inventory.stamps
        self.holds_back = inventory.holds_back
        self._changed: dict[int, frozenset[Kind | None]] = {}
        self._shared: dict[object, object] = {}

    def take_looks(self) -> Looks:
        """What was looked for since the last call. Thousands look for the same, so equal parts are one object."""
        looks = tuple(self._one(look) for look in self.recorded.take_looks())
        return self._one(frozenset(kind for kind, _ in looks)), looks

    def _one(self, value: _Made) -> _Made:
        return cast("_Made", self._shared.setdefault(value, value))

    def changed_after(self, stamp: int) -> frozenset[Kind | None]:
        """The kinds of the objects that have changed since `stamp`."""
        found = self._changed.get(stamp)
        if found is None:
            found = self._changed[stamp] = self.stamps.kinds_after(stamp)
        return found


class Memory(Generic[_Made]):
    """Remembers what the last translation made, by key. What a translation does not ask for is forgotten."""

    __slots__ = ("_before", "_changed", "_kinds", "_last", "_made", "_now", "_view", "_was_held_back")

    def __init__(self) -> None:
        self._before: dict[Hashable, _Kept[_Made]] = {}
        self._made: dict[Hashable, _Kept[_Made]] = {}
        self._view: InventoryView | None = None
        self._was_held_back = False
        self._last = 0  # the stamp of the translation before
        self._now = 0
        self._changed: frozenset[Kind | None] = frozenset()  # kinds of objects that have changed since `_last`
        self._kinds: frozenset[Kind | None] = frozenset()  # that anything was ever looked for of

    def begin(self, view: InventoryView) -> None:
        """Begins a translation of what `view` shows. Another inventory than before has nothing in common with it."""
        last = self._view
        if last is not None and last.stamps is not view.stamps:
            self._made = {}
        # Which Secrets are seen as they were is no change of an object.
        self._was_held_back = view.holds_back or (last is not None and last.holds_back)
        self._before = self._made
        self._made = {}
        self._view = view
        self._last = self._now
        self._now = view.stamps.now
        self._changed = view.changed_after(self._last)
        if self._was_held_back:
            self._changed |= {Kind.SECRET}

    def keep_all(self) -> None:
        """Remembers for the next translation what the last one made, which this one need not ask for."""
        self._made = self._before

    def __len__(self) -> int:
        """How much this translation has made or kept until now."""
        return len(self._made)

    def keep_only(self, keys: Collection[Hashable]) -> None:
        """Forgets what was made by other keys."""
        self._made = {key: each for key, each in self._made.items() if key in keys}

    @property
    def is_quiet(self) -> bool:
        """Whether nothing has changed since the last translation of the kinds that were looked for."""
        return self._kinds.isdisjoint(self._changed)

    def keep(self, keys: Iterable[Hashable], findings: Findings) -> None:
        """Remembers and repeats what the last translation made by `keys`. `is_quiet` must hold."""
        before, made, now = self._before, self._made, self._now
        for key in keys:
            made[key] = found = before[key]
            found.stamp = now
            if found.findings:
                repeat(found.findings, findings)

    def of(
        self,
        key: Hashable,
        given: tuple[object, ...],
        make: Callable[[Inventory, Findings], _Made],
        findings: Findings,
    ) -> _Made:
        """What `make` makes of `given` and of what it looks for in the inventory; remembered by `key`.

        `make` must depend on nothing else that changes from one translation to the next. Its findings go to `findings`.
        Several calls with one key have to be given the same within a translation.
        """
        found = self._before.get(key)
        if found is not None and found.given == given and self._is_quiet(found):
            return self._again(key, found, findings)
        view = self._view
        assert view is not None
        if found is None or not self._holds(found, given, view):
            notes = FindingNotes()
            view.recorded.looks = set()
            made = make(view.recorded, notes)
            if found is not None and found.made == made:
                made = found.made  # the same object, so that who compares it later need not look into it
            found = _Kept(made, given, view.take_looks(), notes.notes, view.stamps.now)
            self._kinds |= found.kinds
        return self._again(key, found, findings)

    def again(self, key: Hashable, findings: Findings) -> _Made | None:
        """What the last translation made by `key`, if nothing has changed of the kinds that it looked for; else None.

        For callers who know that they would give the same.
        """
        found = self._before.get(key)
        return None if found is None or not self._is_quiet(found) else self._again(key, found, findings)

    def _again(self, key: Hashable, found: _Kept[_Made], findings: Findings) -> _Made:
        found.stamp = self._now
        self._made[key] = found
        if found.findings:
            repeat(found.findings, findings)
        return found.made

    def _is_quiet(self, found: _Kept[_Made]) -> bool:
        """Whether no look is needed to say that `found` holds: true of most."""
        return found.stamp == self._last and found.kinds.isdisjoint(self._changed)

    def _holds(self, found: _Kept[_Made], given: tuple[object, ...], view: InventoryView) -> bool:
        if found.given != given:
            return False
        if not found.looks:
            return True
        if self._was_held_back and Kind.SECRET in found.kinds:
            return False
        stamps, stamp = view.stamps, found.stamp
        is_quiet = found.kinds.isdisjoint(view.changed_after(stamp))
        if not is_quiet and any(stamps.changed_after(stamp, look) for look in found.looks):
            return False
        found.stamp = stamps.now
        return True
