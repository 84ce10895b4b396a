"""Computes the difference of two models, cuts it into pieces for the way to a worker, and applies it there.

A publication costs what it changes: unchanged parts are neither sent nor made again. Models must be as their producer
makes them: sorted, and each key once. Does not know how pieces travel, nor which collections a model has (`PARTS`).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Generator, Iterable, Iterator
from itertools import chain, groupby
from typing import Any, TypeAlias, TypeVar

import msgspec

from balancer.model.publication import Collections, Publication, RoutingModel, other_objects
from balancer.model.settings import ProxySettings
from balancer.model.zones import OwnZone, ZoneFacts
from balancer.runtime.steps import finished, nothing
from balancer.workers.parts import PARTS, Key, portions

_COMPARED_A_STEP = 32  # parts
_PUT_A_STEP = 32

_Part = TypeVar("_Part", bound=msgspec.Struct)


class Delta(Collections, frozen=True, omit_defaults=True):
    """What turns one model into another: parts that are new or others, and keys of what is gone, by collection.

    Unset is as it was.
    """

    gone: dict[str, tuple[Key, ...]] = msgspec.field(default_factory=dict)
    own_zone: OwnZone | msgspec.UnsetType = msgspec.UNSET
    zones: ZoneFacts | msgspec.UnsetType = msgspec.UNSET
    proxy: ProxySettings | msgspec.UnsetType = msgspec.UNSET


class Piece(msgspec.Struct, frozen=True, tag=True):
    """A part of the change from the publication of `base` to that of `generation`. The `last` piece completes it."""

    generation: int
    last: bool
    delta: Delta
    base: int = 0


def delta(before: RoutingModel, after: RoutingModel, *, between: Callable[[], None] = nothing) -> Delta:
    """The change that turns `before` into `after`. Equal parts are left out, and identical objects are not even
    compared. Calls `between` after each short step.
    """
    return finished(_comparing(before, after), between=between)


def _comparing(before: RoutingModel, after: RoutingModel) -> Generator[None, None, Delta]:
    changed: dict[str, Any] = {}
    gone: dict[str, tuple[Key, ...]] = {}
    for part in PARTS:
        was, now = getattr(before, part.name), getattr(after, part.name)
        changed[part.name], left = yield from _changes(was, now, part.key_of)
        if left:
            gone[part.name] = left
    return Delta(
        **changed,
        gone=gone,
        own_zone=msgspec.UNSET if after.own_zone == before.own_zone else after.own_zone,
        zones=msgspec.UNSET if after.zones == before.zones else after.zones,
        proxy=msgspec.UNSET if after.proxy == before.proxy else after.proxy,
    )


def applying(before: RoutingModel, change: Delta) -> Generator[None, None, RoutingModel]:
    """The model that `change` makes of `before`, in steps. Unchanged parts are the same objects in both."""
    merged: dict[str, Any] = {}
    for part in PARTS:
        was, changed = getattr(before, part.name), getattr(change, part.name)
        merged[part.name] = yield from _merging(was, changed, change.gone.get(part.name, ()), part.key_of)
    return RoutingModel(
        **merged,
        own_zone=before.own_zone if change.own_zone is msgspec.UNSET else change.own_zone,
        zones=before.zones if change.zones is msgspec.UNSET else change.zones,
        proxy=before.proxy if change.proxy is msgspec.UNSET else change.proxy,
    )


def pieces(change: Delta, generation: int, *, base: int = 0) -> Iterator[Piece]:
    """`change` in at least one piece, made on demand. A worker takes a short time for each.

    The size of a piece does not grow with what tenants write: a host with many routes is cut, and so is a backend with
    many endpoints.
    """
    rest = msgspec.structs.replace(change, **{part.name: () for part in PARTS})
    parts = _parts(change)
    waiting = _chained((rest, next(parts, Delta())))
    for part in parts:
        yield Piece(generation, last=False, delta=waiting, base=base)
        waiting = part
    yield Piece(generation, last=True, delta=waiting, base=base)


def _parts(change: Delta) -> Iterator[Delta]:
    """Everything that can be divided into several pieces."""
    for part in PARTS:
        for portion in portions(getattr(change, part.name), part.weight_of, part.cut):
            parts: dict[str, Any] = {part.name: portion}
            yield Delta(**parts)


class Unfitting(Exception):
    """A piece that does not fit the model of its receiver, so the sender does not know that model."""


Making: TypeAlias = Generator[None, None, Publication]
"""The steps that make a publication."""


class PublicationAssembler:
    """Puts pieces together again, and makes each publication from the one before.

    A piece of another generation starts anew and drops what was gathered before. `publication` is the newest
    publication. A receiver that cannot use it sets the one before.
    """

    __slots__ = ("_pieces", "publication")

    def __init__(self) -> None:
        self.publication = Publication(generation=0, model=RoutingModel())
        self._pieces: list[Piece] = []

    def add(self, piece: Piece) -> Making | None:
        """The steps that make the publication that `piece` completes, or None. Raises `Unfitting`.

        The next piece may come when the steps have been taken.
        """
        if piece.base != self.publication.generation:
            raise Unfitting(f"it goes on publication {piece.base}, and here is {self.publication.generation}")
        if self._pieces and self._pieces[0].generation != piece.generation:
            self._pieces.clear()
        self._pieces.append(piece)
        if not piece.last:
            return None
        whole = self._pieces
        self._pieces = []
        return self._making(whole)

    def _making(self, whole: list[Piece]) -> Making:
        change = joined(each.delta for each in whole)
        yield
        model = yield from applying(self.publication.model, change)
        self.publication = Publication(generation=whole[0].generation, model=model)
        return self.publication


def joined(parts: Iterable[Delta]) -> Delta:
    """The change whose `pieces` are `parts`. The first piece holds what cannot be cut."""
    several = tuple(parts)
    whole = _chained(several)
    if len(several) > 1:  # or nothing was cut
        mended = {
            part.name: _mended(getattr(whole, part.name), part.key_of, part.mend)
            for part in PARTS
            if part.mend is not None
        }
        whole = msgspec.structs.replace(whole, **mended)
    return whole


def _chained(parts: Iterable[Delta]) -> Delta:
    first, *rest = parts
    names = [part.name for part in PARTS]
    together = {
        name: (*getattr(first, name), *chain.from_iterable(getattr(each, name) for each in rest)) for name in names
    }
    return msgspec.structs.replace(first, **together)


def _changes(
    before: tuple[_Part, ...], after: tuple[_Part, ...], key_of: Callable[[_Part], Key]
) -> Generator[None, None, tuple[tuple[_Part, ...], tuple[Key, ...]]]:
    """The new or changed parts, and the keys of the removed parts. In steps."""
    if before is after:
        return (), ()
    old, new = other_objects(before, after) or (before, after)
    yield
    past = {key_of(part): part for part in old}
    changed: list[_Part] = []
    for count, part in enumerate(new, 1):
        was = past.pop(key_of(part), None)
        if was is not part and (was is None or was != part):
            changed.append(part)
        if count % _COMPARED_A_STEP == 0:
            yield
    return tuple(changed), tuple(past)


def _merging(
    before: tuple[_Part, ...], changed: tuple[_Part, ...], gone: Iterable[Key], key_of: Callable[[_Part], Key]
) -> Generator[None, None, tuple[_Part, ...]]:
    """`before` with the parts of `changed` and without those whose keys are `gone`, in steps. All are sorted."""
    if not changed and not gone:
        return before
    if not before:
        return changed
    edits: dict[Key, _Part | None] = {**dict.fromkeys(gone), **dict(zip(map(key_of, changed), changed, strict=True))}
    yield
    parts: list[_Part] = []
    begun, end = 0, len(before)  # of what is still to be copied
    for count, key in enumerate(sorted(edits), 1):
        place = bisect_left(before, key, begun, key=key_of)
        parts += before[begun:place]
        begun = place + (place < end and key_of(before[place]) == key)
        if (part := edits[key]) is not None:
            parts.append(part)
        if count % _PUT_A_STEP == 0:
            yield
    parts += before[begun:]
    return tuple(parts)


def _mended(
    parts: tuple[_Part, ...], key_of: Callable[[_Part], Key], mend: Callable[[_Part, list[_Part]], _Part]
) -> tuple[_Part, ...]:
    """`parts` with adjacent parts of the same key merged into one."""
    if len(set(map(key_of, parts))) == len(parts):
        return parts
    groups = [list(group) for _, group in groupby(parts, key_of)]
    return tuple(mend(same[0], same[1:]) if len(same) > 1 else same[0] for same in groups)
