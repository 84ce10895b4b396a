"""The collections of a model as deltas see them: one row for each says its keys, its weight and how a part is cut."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from operator import attrgetter
from typing import Any, Final, Generic, NamedTuple, TypeAlias, TypeVar

import msgspec

from balancer.model.certificates import Authority, Certificate, ClientCertificate
from balancer.model.conditions import ANY
from balancer.model.endpoints import Backend
from balancer.model.hooks import HookCode
from balancer.model.logins import Logins
from balancer.model.relays import RelayRoute
from balancer.model.route_configurations import Listener, RouteConfiguration
from balancer.model.routes import Host, Route

# By measurement a piece of so many endpoints, routes and certificates is decoded in a fifth of a millisecond. It is
# encoded in half of that.
_PIECE_WEIGHT = 200
_CERTIFICATE_WEIGHT = 20  # beside the weight of its bytes, because each certificate is parsed
_BYTES_WEIGHT = 200  # so many bytes of PEM weigh as much as an endpoint, because they are only copied
_PATH_WEIGHT = 32  # characters that weigh as much as an endpoint; affinity repeats them, for each canary too
_RULES_WEIGHT = 256  # so many bytes of gates and edits weigh as much as an endpoint, such as 16 networks


_Part = TypeVar("_Part", bound=msgspec.Struct)
_Item = TypeVar("_Item")

Key: TypeAlias = str | tuple[str, str]
"""What tells the parts of a collection apart, and sorts them: a host has that of its listener and its name."""


class Collection(NamedTuple, Generic[_Part]):
    """One collection of the model, by the name of its attribute in `Collections`.

    `key_of` gives the key of a part, and `weight_of` how much of a piece a part takes. A part that is heavier than a
    piece is `cut` into parts of the same key, of which `mend` makes one again from the first and the others.
    """

    name: str
    weight_of: Callable[[_Part], int]
    key_of: Callable[[_Part], Key] = attrgetter("key")
    cut: Callable[[_Part], Iterable[_Part]] | None = None
    mend: Callable[[_Part, list[_Part]], _Part] | None = None


def portions(
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


def _cut_host(host: Host) -> Iterator[Host]:
    for routes in portions(host.routes, _route_weight):
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
    filters = [branch.filters for branch in route.branches if branch.filters is not None]
    rules = route.gates, edits, of_branches, route.conditions, filters
    if rules == ((), ((), ()), [((), ())] * len(route.branches), ANY, []):
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


def _hook_weight(code: HookCode) -> int:
    return 1 + len(code.text) // _BYTES_WEIGHT


def _pem_weight(pem: bytes) -> int:
    return 1 + len(pem) // _BYTES_WEIGHT


def _configuration_weight(configuration: RouteConfiguration) -> int:
    weight = 1 + len(msgspec.msgpack.encode(configuration.unmatched_gates)) // _RULES_WEIGHT
    return weight if configuration.default_route is None else weight + _route_weight(configuration.default_route)


def _listener_weight(listener: Listener) -> int:
    return 1 + len(listener.certificates)


def _relay_weight(relay: RelayRoute) -> int:
    return 1 + len(relay.branches)


def _one(_: msgspec.Struct) -> int:
    return 1


PARTS: Final[tuple[Collection[Any], ...]] = (
    Collection("entry_points", _one),
    Collection("route_configurations", _configuration_weight),
    Collection("listeners", _listener_weight),
    Collection("hosts", _host_weight, attrgetter("listener", "name"), _cut_host, _mended_host),
    Collection("relays", _relay_weight, attrgetter("listener", "name")),
    Collection("backends", _backend_weight, cut=_cut_backend, mend=_mended_backend),
    Collection("certificates", _certificate_weight),
    Collection("authorities", _authority_weight),
    Collection("client_certificates", _certificate_weight),
    Collection("logins", _logins_weight),
    Collection("hooks", _hook_weight),
)
"""Every collection of the model."""
