"""Writes the routes of a moved Ingress: HTTPRoutes and GRPCRoutes within the bounds of Gateway API. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from ingress.migration.gateway.gateways import Doorway, gateway_object
from ingress.migration.gateway.moves import HostRules, MovedIngress, Rule, redirecting
from ingress.migration.moving import RawObject

# gateway.networking.k8s.io/v1 HTTPRouteSpec and HTTPRouteRule.
_RULES_MOST: Final = 16
_MATCHES_MOST: Final = 64
_HOSTNAMES_MOST: Final = 16
_REDIRECT_STATUS: Final = 308


def route_documents(
    moved: MovedIngress, doorway: Doorway, metadata: RawObject, *, certified: Callable[[str], bool]
) -> list[RawObject]:
    """The routes of an Ingress. `metadata` has their labels and annotations. `certified`: a host has HTTPS."""
    return [*_Writing(moved, doorway, metadata, certified).documents()]


class _Writing:
    """The routes of one Ingress, with names that are theirs."""

    def __init__(
        self, moved: MovedIngress, doorway: Doorway, metadata: RawObject, certified: Callable[[str], bool]
    ) -> None:
        self._moved = moved
        self._doorway = doorway
        self._metadata = metadata
        self._certified = certified
        self._taken: set[tuple[str, str]] = set()

    def documents(self) -> Iterator[RawObject]:
        for hosts, rules in _alike(self._moved.hosts):
            for few in _chunks(hosts, _HOSTNAMES_MOST):
                yield from self._served(few, rules)
        for other, host in self._moved.other_names.items():
            redirect = {"hostname": host, "statusCode": _REDIRECT_STATUS}
            rule = Rule(None, {"filters": [{"type": "RequestRedirect", "requestRedirect": redirect}]})
            schemes = ("http", "https") if self._certified(other) else ("http",)
            yield from self._routes("other-name", [other], [rule], schemes)

    def _served(self, hosts: Sequence[str], rules: Sequence[Rule]) -> Iterator[RawObject]:
        if all(each.redirected is None for each in rules):
            yield from self._routes("", hosts, rules, ("http", "https"))
            return
        yield from self._routes("", hosts, rules, ("https",))
        yield from self._routes("to-https", hosts, [*redirecting(rules, self._moved.https_status)], ("http",))

    def _routes(
        self, suffix: str, hosts: Sequence[str], rules: Sequence[Rule], schemes: Sequence[str]
    ) -> Iterator[RawObject]:
        parents = [
            self._doorway.parent(host, scheme, self._moved.namespace)
            for host in hosts
            for scheme in schemes
            if scheme == "http" or self._certified(host)
        ]
        if not parents:
            return
        names = [each for each in hosts if each]
        for kind in ("HTTPRoute", "GRPCRoute"):
            own = [each for each in rules if each.is_grpc is (kind == "GRPCRoute")]
            for few in _chunks([*_merged(own)], _RULES_MOST):
                spec = {"parentRefs": parents, **({"hostnames": names} if names else {}), "rules": few}
                found = gateway_object(kind, self._moved.namespace, self._name(kind, suffix), spec)
                found["metadata"] |= {
                    name: said for name, said in self._metadata.items() if not suffix or name == "labels"
                }
                yield found

    def _name(self, kind: str, suffix: str) -> str:
        base = f"{self._moved.name}-{suffix}" if suffix else self._moved.name
        name, number = base, 1
        while (kind, name) in self._taken:
            number += 1
            name = f"{base}-{number}"
        self._taken.add((kind, name))
        return name


def _alike(hosts: Iterable[HostRules]) -> list[tuple[list[str], tuple[Rule, ...]]]:
    """The hosts with the same rules, together."""
    found: list[tuple[list[str], tuple[Rule, ...]]] = []
    for each in hosts:
        same = next((names for names, rules in found if rules == each.rules), None)
        if same is not None:
            same.append(each.host)
        elif each.rules:
            found.append(([each.host], each.rules))
    return found


def _merged(rules: Iterable[Rule]) -> Iterator[RawObject]:
    """The rules as documents. Neighbours that differ in their match only are one."""
    last: Rule | None = None
    matches: list[RawObject] = []
    for each in rules:
        together = last is not None and each.rest == last.rest and len(matches) < _MATCHES_MOST
        if last is not None and not (together and each.match is not None and last.match is not None):
            yield _document(matches, last.rest)
            matches = []
        matches += [each.match] if each.match is not None else []
        last = each
    if last is not None:
        yield _document(matches, last.rest)


def _document(matches: list[RawObject], rest: Mapping[str, Any]) -> RawObject:
    return {**({"matches": matches} if matches else {}), **rest}


def _chunks(items: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    for begin in range(0, len(items), size):
        yield items[begin : begin + size]
