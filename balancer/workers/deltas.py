"""What a publication changes: the difference of two models, cut into pieces for the way to a worker, and put on again.

Responsible for making a publication cost what it changes: what stays is neither sent nor made anew. It must not know
how pieces travel. Models are as their producer makes them: sorted, and each name or key once.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, compress, groupby
from operator import attrgetter, is_not
from typing import TypeVar

import msgspec

from balancer.model import (
    Backend,
    BackendKey,
    Certificate,
    EndpointTls,
    Host,
    OwnZone,
    ProxySettings,
    Publication,
    Route,
    RoutePolicy,
    RoutingModel,
    ZoneFacts,
)

# Measured: a piece of so many endpoints, routes and certificates is decoded in one to two milliseconds.
_PIECE_WEIGHT = 1000
_CERTIFICATE_WEIGHT = 20  # beside its bytes: each is parsed
_BYTES_WEIGHT = 200  # so many bytes of PEM, and they are only copied, weigh as much as an endpoint
_PATH_WEIGHT = 32  # so many characters; affinity says them again, for each canary too

# Measured: one key is found among thousands in the time that a pass takes over ten of them.
_PASSED_A_LOOK_UP = 10

_Part = TypeVar("_Part", Host, Backend, Certificate)
_Item = TypeVar("_Item")

_name_of: Callable[[Host], str] = attrgetter("name")
_key_of: Callable[[Backend | Certificate], str] = attrgetter("key")


class Delta(msgspec.Struct, frozen=True, omit_defaults=True):
    """What turns one model into another: parts that are new or others, keys of what is gone; unset is as it was.

    On its way, in `pieces`, each distinct `ca_pem` of the routes is one of `authorities`, and they hold its number.
    """

    hosts: tuple[Host, ...] = ()
    hosts_gone: tuple[str, ...] = ()
    backends: tuple[Backend, ...] = ()
    backends_gone: tuple[BackendKey, ...] = ()
    certificates: tuple[Certificate, ...] = ()
    certificates_gone: tuple[str, ...] = ()
    authorities: tuple[bytes, ...] = ()
    own_zone: OwnZone | msgspec.UnsetType = msgspec.UNSET
    zones: ZoneFacts | msgspec.UnsetType = msgspec.UNSET
    default_route: Route | msgspec.UnsetType | None = msgspec.UNSET
    default_certificate: str | msgspec.UnsetType | None = msgspec.UNSET
    proxy: ProxySettings | msgspec.UnsetType = msgspec.UNSET


class Piece(msgspec.Struct, frozen=True, tag=True):
    """A part of what leads from the publication of `base` to that of `generation`; it is whole with the `last` one."""

    generation: int
    last: bool
    delta: Delta
    base: int = 0


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


def pieces(change: Delta, generation: int, *, base: int = 0) -> Iterator[Piece]:
    """`change` in pieces that take a worker a short while each, made as they are asked for; at least one.

    None grows with what tenants write: a host of many routes is cut as well, and a backend of many endpoints.
    """
    numbers: dict[bytes, int] = {}

    def slim(tls: EndpointTls) -> EndpointTls:
        assert tls.ca_pem is not None
        return msgspec.structs.replace(tls, ca_pem=b"%d" % numbers.setdefault(tls.ca_pem, len(numbers)))

    rest = msgspec.structs.replace(change, hosts=(), backends=(), certificates=())
    exchange = _Exchange(slim)
    parts = _parts(change, exchange, numbers)
    waiting = _chained((exchange.default(rest), next(parts, Delta())))
    for part in parts:
        yield Piece(generation, last=False, delta=waiting, base=base)
        waiting = part
    yield Piece(generation, last=True, delta=waiting, base=base)


def _parts(change: Delta, exchange: _Exchange, authorities: Iterable[bytes]) -> Iterator[Delta]:
    """All that can be cut; `authorities` last, because they come to be known on the way."""
    for hosts in _portions(change.hosts, _host_weight, _cut_host):
        yield Delta(hosts=tuple(map(exchange.host, hosts)))
    for backends in _portions(change.backends, _backend_weight, _cut_backend):
        yield Delta(backends=backends)
    for certificates in _portions(change.certificates, _certificate_weight):
        yield Delta(certificates=certificates)
    for some in _portions(tuple(authorities), _pem_weight):
        yield Delta(authorities=some)


class Unfitting(Exception):
    """A piece that does not go on what its receiver has; whoever sent it does not know what that is."""


class Gathering:
    """Puts pieces together again, and the publications that they make on the one before.

    A piece of another generation begins anew: what was gathered of the one before belongs to nobody any more.
    `publication` is the newest; whoever cannot use it puts the one before in its place.
    """

    __slots__ = ("_pieces", "publication")

    def __init__(self) -> None:
        self.publication = Publication(generation=0, model=RoutingModel())
        self._pieces: list[Piece] = []

    def add(self, piece: Piece) -> Publication | None:
        """The publication that `piece` completes, or None. Raises `Unfitting`."""
        if piece.base != self.publication.generation:
            raise Unfitting(f"it goes on publication {piece.base}, and here is {self.publication.generation}")
        if self._pieces and self._pieces[0].generation != piece.generation:
            self._pieces.clear()
        self._pieces.append(piece)
        if not piece.last:
            return None
        whole = joined(each.delta for each in self._pieces)
        self._pieces.clear()
        self.publication = Publication(generation=piece.generation, model=apply(self.publication.model, whole))
        return self.publication


def joined(parts: Iterable[Delta]) -> Delta:
    """The change whose `pieces` are `parts`: the first of them holds what cannot be cut."""
    several = tuple(parts)
    whole = _chained(several)
    if len(several) > 1:  # or nothing was cut
        hosts = tuple(_mended(whole.hosts, _name_of, _mended_host))
        backends = tuple(_mended(whole.backends, _key_of, _mended_backend))
        whole = msgspec.structs.replace(whole, hosts=hosts, backends=backends)
    if not whole.authorities:
        return whole

    def full(tls: EndpointTls) -> EndpointTls:
        assert tls.ca_pem is not None
        return msgspec.structs.replace(tls, ca_pem=whole.authorities[int(tls.ca_pem)])

    exchange = _Exchange(full)
    hosts = tuple(map(exchange.host, whole.hosts))
    return exchange.default(msgspec.structs.replace(whole, hosts=hosts, authorities=()))


class _Exchange:
    """Puts another `EndpointTls` in the place of each that trusts roots of its own. Equal ones stay one object."""

    __slots__ = ("_other", "_policies")

    def __init__(self, other: Callable[[EndpointTls], EndpointTls]) -> None:
        self._other = other
        self._policies: dict[RoutePolicy, RoutePolicy] = {}

    def host(self, host: Host) -> Host:
        if not any(map(_has_authority, host.routes)) and (host.default is None or not _has_authority(host.default)):
            return host
        default = host.default and self._route(host.default)
        return msgspec.structs.replace(host, routes=tuple(map(self._route, host.routes)), default=default)

    def default(self, change: Delta) -> Delta:
        route = change.default_route
        return msgspec.structs.replace(change, default_route=self._route(route)) if isinstance(route, Route) else change

    def _route(self, route: Route) -> Route:
        if not _has_authority(route):
            return route
        policy = self._policies.get(route.policy)
        if policy is None:
            assert route.policy.endpoint_tls is not None
            policy = msgspec.structs.replace(route.policy, endpoint_tls=self._other(route.policy.endpoint_tls))
            self._policies[route.policy] = policy
        return msgspec.structs.replace(route, policy=policy)


def _has_authority(route: Route) -> bool:
    tls = route.policy.endpoint_tls
    return tls is not None and tls.ca_pem is not None


def _chained(parts: Iterable[Delta]) -> Delta:
    first, *rest = parts
    return msgspec.structs.replace(
        first,
        hosts=(*first.hosts, *chain.from_iterable(part.hosts for part in rest)),
        backends=(*first.backends, *chain.from_iterable(part.backends for part in rest)),
        certificates=(*first.certificates, *chain.from_iterable(part.certificates for part in rest)),
        authorities=(*first.authorities, *chain.from_iterable(part.authorities for part in rest)),
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


def _portions(
    parts: Iterable[_Item],
    weight_of: Callable[[_Item], int],
    cut: Callable[[_Item], Iterable[_Item]] | None = None,
) -> Iterator[tuple[_Item, ...]]:
    """`parts` in order, parted where they weigh enough; one that weighs more on its own is `cut`, or stays whole."""
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
    parts: Iterable[_Part], key_of: Callable[[_Part], str], mend: Callable[[_Part, list[_Part]], _Part]
) -> Iterator[_Part]:
    """`parts` of which those with the same key, which follow each other, become one again."""
    for _, group in groupby(parts, key_of):
        same = list(group)
        yield mend(same[0], same[1:]) if len(same) > 1 else same[0]


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
    return (1 + len(route.path) // _PATH_WEIGHT) * (1 + len(route.canaries))


def _backend_weight(backend: Backend) -> int:
    return 1 + len(backend.endpoints)


def _certificate_weight(certificate: Certificate) -> int:
    return _CERTIFICATE_WEIGHT + _pem_weight(certificate.chain_pem)


def _pem_weight(pem: bytes) -> int:
    return 1 + len(pem) // _BYTES_WEIGHT
