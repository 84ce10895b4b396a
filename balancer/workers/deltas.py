"""What a publication changes: the difference of two models, cut into pieces for the way to a worker, and put on again.

Responsible for making a publication cost what it changes: what stays is neither sent nor made anew. It must not know
how pieces travel. Models are as their producer makes them: sorted, and each name or key once.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, compress
from operator import attrgetter, is_not
from typing import TypeVar

import msgspec

from balancer.model import (
    Backend,
    BackendKey,
    Certificate,
    Host,
    OwnZone,
    ProxySettings,
    Publication,
    Route,
    RoutingModel,
    ZoneFacts,
)

# Measured: a piece of so many endpoints, routes and certificates is decoded in one to two milliseconds.
_PIECE_WEIGHT = 1000
_CERTIFICATE_WEIGHT = 20  # one weighs as much as so many endpoints: few kilobytes of text each

# Measured: one key is found among thousands in the time that a pass takes over ten of them.
_PASSED_A_LOOK_UP = 10

_Part = TypeVar("_Part", Host, Backend, Certificate)

_name_of: Callable[[Host], str] = attrgetter("name")
_key_of: Callable[[Backend | Certificate], str] = attrgetter("key")


class Delta(msgspec.Struct, frozen=True, omit_defaults=True):
    """What turns one model into another: parts that are new or others, keys of what is gone; unset is as it was."""

    hosts: tuple[Host, ...] = ()
    hosts_gone: tuple[str, ...] = ()
    backends: tuple[Backend, ...] = ()
    backends_gone: tuple[BackendKey, ...] = ()
    certificates: tuple[Certificate, ...] = ()
    certificates_gone: tuple[str, ...] = ()
    own_zone: OwnZone | msgspec.UnsetType = msgspec.UNSET
    zones: ZoneFacts | msgspec.UnsetType = msgspec.UNSET
    default_route: Route | msgspec.UnsetType | None = msgspec.UNSET
    default_certificate: str | msgspec.UnsetType | None = msgspec.UNSET
    proxy: ProxySettings | msgspec.UnsetType = msgspec.UNSET


class Piece(msgspec.Struct, frozen=True, tag=True):
    """A part of what leads to the publication of `generation`; it is whole with the `last` one."""

    generation: int
    last: bool
    delta: Delta


def delta(before: RoutingModel, after: RoutingModel) -> Delta:
    """What turns `before` into `after`. Equal parts do not count, and identical ones are not even compared."""
    hosts, hosts_gone = _changes(before.hosts, after.hosts, _name_of)
    backends, backends_gone = _changes(before.backends, after.backends, _key_of)
    certificates, certificates_gone = _changes(before.certificates, after.certificates, _key_of)
    return Delta(
        hosts=hosts,
        hosts_gone=hosts_gone,
        backends=backends,
        backends_gone=tuple(map(BackendKey, backends_gone)),
        certificates=certificates,
        certificates_gone=certificates_gone,
        own_zone=msgspec.UNSET if after.own_zone == before.own_zone else after.own_zone,
        zones=msgspec.UNSET if after.zones == before.zones else after.zones,
        default_route=msgspec.UNSET if after.default_route == before.default_route else after.default_route,
        default_certificate=(
            msgspec.UNSET if after.default_certificate == before.default_certificate else after.default_certificate
        ),
        proxy=msgspec.UNSET if after.proxy == before.proxy else after.proxy,
    )


def apply(before: RoutingModel, change: Delta) -> RoutingModel:
    """The model that `change` makes of `before`. What did not change is the same object in both."""
    return RoutingModel(
        hosts=_merged(before.hosts, change.hosts, change.hosts_gone, _name_of),
        backends=_merged(before.backends, change.backends, change.backends_gone, _key_of),
        certificates=_merged(before.certificates, change.certificates, change.certificates_gone, _key_of),
        own_zone=before.own_zone if change.own_zone is msgspec.UNSET else change.own_zone,
        zones=before.zones if change.zones is msgspec.UNSET else change.zones,
        default_route=before.default_route if change.default_route is msgspec.UNSET else change.default_route,
        default_certificate=(
            before.default_certificate if change.default_certificate is msgspec.UNSET else change.default_certificate
        ),
        proxy=before.proxy if change.proxy is msgspec.UNSET else change.proxy,
    )


def pieces(change: Delta, generation: int) -> Iterator[Piece]:
    """`change` in pieces that take a worker a short while each, made as they are asked for; at least one."""
    parts = chain(
        (Delta(hosts=some) for some in _portions(change.hosts, _host_weight)),
        (Delta(backends=some) for some in _portions(change.backends, _backend_weight)),
        (Delta(certificates=some) for some in _portions(change.certificates, _certificate_weight)),
    )
    rest = msgspec.structs.replace(change, hosts=(), backends=(), certificates=())
    waiting = joined((rest, next(parts, Delta())))
    for part in parts:
        yield Piece(generation, last=False, delta=waiting)
        waiting = part
    yield Piece(generation, last=True, delta=waiting)


class Gathering:
    """Puts pieces together again, and the publications that they make on the model before.

    A piece of another generation begins anew: what was gathered of the one before belongs to nobody any more.
    """

    __slots__ = ("_pieces", "model")

    def __init__(self) -> None:
        self.model = RoutingModel()
        self._pieces: list[Piece] = []

    def add(self, piece: Piece) -> Publication | None:
        """The publication that `piece` completes, or None."""
        if self._pieces and self._pieces[0].generation != piece.generation:
            self._pieces.clear()
        self._pieces.append(piece)
        if not piece.last:
            return None
        self.model = apply(self.model, joined(each.delta for each in self._pieces))
        self._pieces.clear()
        return Publication(generation=piece.generation, model=self.model)


def joined(parts: Iterable[Delta]) -> Delta:
    """The change whose `pieces` are `parts`: the first of them holds what cannot be cut."""
    first, *rest = parts
    return msgspec.structs.replace(
        first,
        hosts=(*first.hosts, *chain.from_iterable(part.hosts for part in rest)),
        backends=(*first.backends, *chain.from_iterable(part.backends for part in rest)),
        certificates=(*first.certificates, *chain.from_iterable(part.certificates for part in rest)),
    )


def _changes(
    before: tuple[_Part, ...], after: tuple[_Part, ...], key_of: Callable[[_Part], str]
) -> tuple[tuple[_Part, ...], tuple[str, ...]]:
    """The parts that are new or others, and the keys of those that are gone."""
    if before is after:
        return (), ()
    old, new = before, after
    if len(before) == len(after):  # of thousands most are the same objects, in the same places
        differs = list(map(is_not, before, after))
        old, new = tuple(compress(before, differs)), tuple(compress(after, differs))
    past = {key_of(part): part for part in old}
    changed = tuple(
        part for part in new if (was := past.pop(key_of(part), None)) is not part and (was is None or was != part)
    )
    return changed, tuple(past)


def _merged(
    before: tuple[_Part, ...], changed: tuple[_Part, ...], gone: Iterable[str], key_of: Callable[[_Part], str]
) -> tuple[_Part, ...]:
    if not changed and not gone:
        return before
    if not gone and len(changed) * _PASSED_A_LOOK_UP < len(before):
        put = _put(before, changed, key_of)
        if put is not None:
            return put
    parts = dict(zip(map(key_of, before), before, strict=True))
    for key in gone:
        parts.pop(key, None)
    count = len(parts)
    parts.update(zip(map(key_of, changed), changed, strict=True))
    if len(parts) == count:
        return tuple(parts.values())
    return tuple(parts[key] for key in sorted(parts))


def _put(
    before: tuple[_Part, ...], changed: tuple[_Part, ...], key_of: Callable[[_Part], str]
) -> tuple[_Part, ...] | None:
    """`before` with those of `changed` in the places of what they replace; None if one of them is new."""
    parts = list(before)
    for part in changed:
        place = bisect_left(parts, key_of(part), key=key_of)
        if place == len(parts) or key_of(parts[place]) != key_of(part):
            return None
        parts[place] = part
    return tuple(parts)


def _portions(parts: tuple[_Part, ...], weight_of: Callable[[_Part], int]) -> Iterator[tuple[_Part, ...]]:
    """`parts` in order, cut where they weigh enough; one that weighs more on its own stays whole."""
    begin = weight = 0
    for number, part in enumerate(parts):
        weight += weight_of(part)
        if weight >= _PIECE_WEIGHT:
            yield parts[begin : number + 1]
            begin, weight = number + 1, 0
    if begin < len(parts):
        yield parts[begin:]


def _host_weight(host: Host) -> int:
    return 1 + len(host.routes)


def _backend_weight(backend: Backend) -> int:
    return 1 + len(backend.endpoints)


def _certificate_weight(_: Certificate) -> int:
    return _CERTIFICATE_WEIGHT
