"""Computes the difference of two models, cuts it into pieces for the way to a worker, and applies it there.

A publication costs what it changes: unchanged parts are neither sent nor made again. Models must be as their producer
makes them: sorted, and each name or key once. Does not know how pieces travel.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Generator, Iterable, Iterator
from itertools import chain, groupby
from operator import attrgetter
from typing import TypeAlias, TypeVar

import msgspec

from balancer.model.certificates import Authority, Certificate, ClientCertificate
from balancer.model.conditions import ANY
from balancer.model.endpoints import Backend, BackendKey
from balancer.model.gates import GateRule
from balancer.model.logins import Logins
from balancer.model.publication import Publication, RoutingModel, other_objects
from balancer.model.routes import Host, Route
from balancer.model.settings import ProxySettings
from balancer.model.zones import OwnZone, ZoneFacts
from balancer.runtime.steps import finished, nothing

# By measurement a piece of so many endpoints, routes and certificates is decoded in a fifth of a millisecond. It is
# encoded in half of that.
_PIECE_WEIGHT = 200
_CERTIFICATE_WEIGHT = 20  # beside the weight of its bytes, because each certificate is parsed
_BYTES_WEIGHT = 200  # so many bytes of PEM weigh as much as an endpoint, because they are only copied
_PATH_WEIGHT = 32  # characters that weigh as much as an endpoint; affinity repeats them, for each canary too
_RULES_WEIGHT = 256  # so many bytes of gates and edits weigh as much as an endpoint, such as 16 networks

# By measurement one key is found among thousands in the time of a pass over ten of them.
_PASSED_A_LOOK_UP = 10

_COMPARED_A_STEP = 32  # parts
_PUT_A_STEP = 32

_Part = TypeVar("_Part", Host, Backend, Certificate, Authority, ClientCertificate, Logins)
_Item = TypeVar("_Item")

_name_of: Callable[[Host], str] = attrgetter("name")
_key_of: Callable[[Backend | Certificate | Authority | ClientCertificate | Logins], str] = attrgetter("key")


class Delta(msgspec.Struct, frozen=True, omit_defaults=True):
    """What turns one model into another: parts that are new or others, keys of what is gone; unset is as it was."""

    hosts: tuple[Host, ...] = ()
    hosts_gone: tuple[str, ...] = ()
    backends: tuple[Backend, ...] = ()
    backends_gone: tuple[BackendKey, ...] = ()
    certificates: tuple[Certificate, ...] = ()
    certificates_gone: tuple[str, ...] = ()
    authorities: tuple[Authority, ...] = ()
    authorities_gone: tuple[str, ...] = ()
    client_certificates: tuple[ClientCertificate, ...] = ()
    client_certificates_gone: tuple[str, ...] = ()
    logins: tuple[Logins, ...] = ()
    logins_gone: tuple[str, ...] = ()
    own_zone: OwnZone | msgspec.UnsetType = msgspec.UNSET
    zones: ZoneFacts | msgspec.UnsetType = msgspec.UNSET
    default_route: Route | msgspec.UnsetType | None = msgspec.UNSET
    unmatched_gates: tuple[GateRule, ...] | msgspec.UnsetType = msgspec.UNSET
    default_certificate: str | msgspec.UnsetType | None = msgspec.UNSET
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
    hosts, hosts_gone = yield from _changes(before.hosts, after.hosts, _name_of)
    backends, backends_gone = yield from _changes(before.backends, after.backends, _key_of)
    certificates, certificates_gone = yield from _changes(before.certificates, after.certificates, _key_of)
    authorities, authorities_gone = yield from _changes(before.authorities, after.authorities, _key_of)
    shown, shown_gone = yield from _changes(before.client_certificates, after.client_certificates, _key_of)
    logins, logins_gone = yield from _changes(before.logins, after.logins, _key_of)
    return Delta(
        hosts=hosts,
        hosts_gone=hosts_gone,
        backends=backends,
        backends_gone=tuple(map(BackendKey, backends_gone)),
        certificates=certificates,
        certificates_gone=certificates_gone,
        authorities=authorities,
        authorities_gone=authorities_gone,
        client_certificates=shown,
        client_certificates_gone=shown_gone,
        logins=logins,
        logins_gone=logins_gone,
        own_zone=msgspec.UNSET if after.own_zone == before.own_zone else after.own_zone,
        zones=msgspec.UNSET if after.zones == before.zones else after.zones,
        default_route=msgspec.UNSET if after.default_route == before.default_route else after.default_route,
        unmatched_gates=msgspec.UNSET if after.unmatched_gates == before.unmatched_gates else after.unmatched_gates,
        default_certificate=(
            msgspec.UNSET if after.default_certificate == before.default_certificate else after.default_certificate
        ),
        proxy=msgspec.UNSET if after.proxy == before.proxy else after.proxy,
    )


def applying(before: RoutingModel, change: Delta) -> Generator[None, None, RoutingModel]:
    """The model that `change` makes of `before`, in steps. Unchanged parts are the same objects in both."""
    hosts = yield from _merging(before.hosts, change.hosts, change.hosts_gone, _name_of)
    backends = yield from _merging(before.backends, change.backends, change.backends_gone, _key_of)
    certificates = yield from _merging(before.certificates, change.certificates, change.certificates_gone, _key_of)
    authorities = yield from _merging(before.authorities, change.authorities, change.authorities_gone, _key_of)
    shown = yield from _merging(
        before.client_certificates, change.client_certificates, change.client_certificates_gone, _key_of
    )
    logins = yield from _merging(before.logins, change.logins, change.logins_gone, _key_of)
    return RoutingModel(
        hosts=hosts,
        backends=backends,
        certificates=certificates,
        authorities=authorities,
        client_certificates=shown,
        logins=logins,
        own_zone=before.own_zone if change.own_zone is msgspec.UNSET else change.own_zone,
        zones=before.zones if change.zones is msgspec.UNSET else change.zones,
        default_route=before.default_route if change.default_route is msgspec.UNSET else change.default_route,
        unmatched_gates=(before.unmatched_gates if change.unmatched_gates is msgspec.UNSET else change.unmatched_gates),
        default_certificate=(
            before.default_certificate if change.default_certificate is msgspec.UNSET else change.default_certificate
        ),
        proxy=before.proxy if change.proxy is msgspec.UNSET else change.proxy,
    )


def pieces(change: Delta, generation: int, *, base: int = 0) -> Iterator[Piece]:
    """`change` in at least one piece, made on demand. A worker takes a short time for each.

    The size of a piece does not grow with what tenants write: a host with many routes is cut, and so is a backend with
    many endpoints.
    """
    rest = msgspec.structs.replace(
        change, hosts=(), backends=(), certificates=(), authorities=(), client_certificates=(), logins=()
    )
    parts = _parts(change)
    waiting = _chained((rest, next(parts, Delta())))
    for part in parts:
        yield Piece(generation, last=False, delta=waiting, base=base)
        waiting = part
    yield Piece(generation, last=True, delta=waiting, base=base)


def _parts(change: Delta) -> Iterator[Delta]:
    """Everything that can be divided into several pieces."""
    for hosts in _portions(change.hosts, _host_weight, _cut_host):
        yield Delta(hosts=hosts)
    for backends in _portions(change.backends, _backend_weight, _cut_backend):
        yield Delta(backends=backends)
    for certificates in _portions(change.certificates, _certificate_weight):
        yield Delta(certificates=certificates)
    for authorities in _portions(change.authorities, _authority_weight):
        yield Delta(authorities=authorities)
    for shown in _portions(change.client_certificates, _certificate_weight):
        yield Delta(client_certificates=shown)
    for logins in _portions(change.logins, _logins_weight):
        yield Delta(logins=logins)


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
        whole, self._pieces = self._pieces, []
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
        hosts = _mended(whole.hosts, _name_of, _mended_host)
        backends = _mended(whole.backends, _key_of, _mended_backend)
        whole = msgspec.structs.replace(whole, hosts=hosts, backends=backends)
    return whole


def _chained(parts: Iterable[Delta]) -> Delta:
    first, *rest = parts
    return msgspec.structs.replace(
        first,
        hosts=(*first.hosts, *chain.from_iterable(part.hosts for part in rest)),
        backends=(*first.backends, *chain.from_iterable(part.backends for part in rest)),
        certificates=(*first.certificates, *chain.from_iterable(part.certificates for part in rest)),
        authorities=(*first.authorities, *chain.from_iterable(part.authorities for part in rest)),
        client_certificates=(
            *first.client_certificates,
            *chain.from_iterable(part.client_certificates for part in rest),
        ),
        logins=(*first.logins, *chain.from_iterable(part.logins for part in rest)),
    )


def _changes(
    before: tuple[_Part, ...], after: tuple[_Part, ...], key_of: Callable[[_Part], str]
) -> Generator[None, None, tuple[tuple[_Part, ...], tuple[str, ...]]]:
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
    before: tuple[_Part, ...], changed: tuple[_Part, ...], gone: Iterable[str], key_of: Callable[[_Part], str]
) -> Generator[None, None, tuple[_Part, ...]]:
    if not changed and not gone:
        return before
    if len(changed) == len(before) and list(map(key_of, changed)) == list(map(key_of, before)):
        return changed
    if not gone and len(changed) * _PASSED_A_LOOK_UP < len(before):
        put = yield from _putting(before, changed, key_of)
        if put is not None:
            return put
    parts = dict(zip(map(key_of, before), before, strict=True))
    yield
    for key in gone:
        parts.pop(key, None)
    count = len(parts)
    parts.update(zip(map(key_of, changed), changed, strict=True))
    if len(parts) == count:
        return tuple(parts.values())
    return tuple(parts[key] for key in sorted(parts))


def _putting(
    before: tuple[_Part, ...], changed: tuple[_Part, ...], key_of: Callable[[_Part], str]
) -> Generator[None, None, tuple[_Part, ...] | None]:
    """`before` with the parts of `changed` in the places of those that they replace; None if one of them is new."""
    parts = list(before)
    for count, part in enumerate(changed, 1):
        place = bisect_left(parts, key_of(part), key=key_of)
        if place == len(parts) or key_of(parts[place]) != key_of(part):
            return None
        parts[place] = part
        if count % _PUT_A_STEP == 0:
            yield
    return tuple(parts)


def _portions(
    parts: Iterable[_Item],
    weight_of: Callable[[_Item], int],
    cut: Callable[[_Item], Iterable[_Item]] | None = None,
) -> Iterator[tuple[_Item, ...]]:
    """`parts` in order, in groups of bounded weight. A part that alone exceeds the bound is `cut`, or stays whole."""
    held: list[_Item] = []
    weight = 0
    for part in parts:
        own = weight_of(part)
        for each in (part,) if cut is None or own <= _PIECE_WEIGHT else cut(part):
            held.append(each)
            weight += own if each is part else weight_of(each)
            if weight >= _PIECE_WEIGHT:
                yield tuple(held)
                held.clear()
                weight = 0
    if held:
        yield tuple(held)


def _mended(
    parts: tuple[_Part, ...], key_of: Callable[[_Part], str], mend: Callable[[_Part, list[_Part]], _Part]
) -> tuple[_Part, ...]:
    """`parts` with adjacent parts of the same key merged into one."""
    if len(set(map(key_of, parts))) == len(parts):
        return parts
    groups = [list(group) for _, group in groupby(parts, key_of)]
    return tuple(mend(same[0], same[1:]) if len(same) > 1 else same[0] for same in groups)


def _cut_host(host: Host) -> Iterator[Host]:
    for routes in _portions(host.routes, _route_weight):
        yield msgspec.structs.replace(host, routes=routes)


def _mended_host(first: Host, others: list[Host]) -> Host:
    routes = (*first.routes, *chain.from_iterable(other.routes for other in others))
    return msgspec.structs.replace(first, routes=routes)


def _cut_backend(backend: Backend) -> Iterator[Backend]:
    for begin in range(0, len(backend.endpoints), _PIECE_WEIGHT):
        yield msgspec.structs.replace(backend, endpoints=backend.endpoints[begin : begin + _PIECE_WEIGHT])


def _mended_backend(first: Backend, others: list[Backend]) -> Backend:
    endpoints = (*first.endpoints, *chain.from_iterable(other.endpoints for other in others))
    return msgspec.structs.replace(first, endpoints=endpoints)


def _host_weight(host: Host) -> int:
    return 1 + sum(map(_route_weight, host.routes))


def _route_weight(route: Route) -> int:
    weight = (1 + len(route.path) // _PATH_WEIGHT) * len(route.branches)
    edits = route.response_rules, route.request_edits
    of_branches = [(branch.request_edits, branch.response_rules) for branch in route.branches]
    rules = route.gates, edits, of_branches, route.conditions
    if rules == ((), ((), ()), [((), ())] * len(route.branches), ANY):
        return weight
    return weight + len(msgspec.msgpack.encode(rules)) // _RULES_WEIGHT


def _backend_weight(backend: Backend) -> int:
    return 1 + len(backend.endpoints)


def _certificate_weight(certificate: Certificate | ClientCertificate) -> int:
    return _CERTIFICATE_WEIGHT + _pem_weight(certificate.chain_pem)


def _authority_weight(authority: Authority) -> int:
    return _pem_weight(authority.ca_pem) + len(authority.crl_pem) // _BYTES_WEIGHT


def _logins_weight(logins: Logins) -> int:
    return 1 + len(logins.hashes)


def _pem_weight(pem: bytes) -> int:
    return 1 + len(pem) // _BYTES_WEIGHT
