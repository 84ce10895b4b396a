"""Decides which kinds of Gateway API are followed, and at which version, by what the API server says that it serves.

A cluster may lack these kinds, get them later, or have only older versions. Does not know how the API server is asked,
nor how a kind is followed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final

import msgspec

from ingress.objects.kinds import CLUSTER_WIDE, OPTIONAL_KINDS, Kind
from ingress.objects.zone_policy import ZONE_POLICY_VERSION
from ingress.sources.kubernetes.decoding import DecodingError
from ingress.sources.kubernetes.resources import RESOURCES, Scope

VERSIONS: Final = ("v1", "v1beta1")
"""The versions that are read, the best first. Versions that are alpha may change at any time, so they are never read.

Our own kind is another matter.
"""

_BETA: Final = frozenset({Kind.GATEWAY_CLASS, Kind.GATEWAY, Kind.HTTP_ROUTE, Kind.REFERENCE_GRANT})
"""The kinds whose v1beta1 has the fields of v1."""

_KINDS: Final[tuple[Kind, ...]] = tuple(kind for kind in Kind if kind in OPTIONAL_KINDS and kind is not Kind.NAMESPACE)


class _Version(msgspec.Struct, frozen=True):
    version: str = ""


class _Group(msgspec.Struct, frozen=True):
    versions: tuple[_Version, ...] | None = None


class _Named(msgspec.Struct, frozen=True):
    name: str = ""


class _ResourceList(msgspec.Struct, frozen=True):
    resources: tuple[_Named, ...] | None = None


_GROUP = msgspec.json.Decoder(_Group)
_RESOURCE_LIST = msgspec.json.Decoder(_ResourceList)


def versions_in(body: bytes) -> tuple[str, ...]:
    """Which of `VERSIONS` an APIGroup names. Raises `DecodingError`."""
    try:
        named = {each.version for each in _GROUP.decode(body).versions or ()}
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise DecodingError("the answer is not an API group") from None
    return tuple(version for version in VERSIONS if version in named)


def plurals_in(body: bytes) -> frozenset[str]:
    """The plurals in an APIResourceList. Raises `DecodingError`."""
    try:
        return frozenset(each.name for each in _RESOURCE_LIST.decode(body).resources or ())
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise DecodingError("the answer is not a list of resources") from None


def gateway_scopes(namespaces: Collection[str]) -> Mapping[Kind, tuple[Scope, ...]]:
    """The scopes of each optional kind. No `namespaces` means all. Of Namespaces only the metadata is read."""
    scopes = {
        Kind.NAMESPACE: tuple(Scope(Kind.NAMESPACE, "", name, metadata_only=True) for name in namespaces or ("",))
    }
    for kind in _KINDS:
        places = ("",) if kind in CLUSTER_WIDE else tuple(namespaces) or ("",)
        scopes[kind] = tuple(Scope(kind, namespace=place) for place in places)
    return scopes


class ServedKinds:
    """The version at which each kind is followed. A kind that is gone counts as absent after two looks, because an API
    server that starts may not know every kind yet.
    """

    __slots__ = ("_missed", "_versions")

    def __init__(self) -> None:
        self._versions: dict[Kind, str] = {}
        self._missed: set[Kind] = set()

    def look(self, served: Mapping[str, Collection[str]]) -> dict[Kind, str]:
        """Takes the plurals that each version has now. Returns the kinds that are to be followed otherwise than before,
        with their version; an empty one means that the kind is absent. The first look returns every kind.
        """
        now: dict[Kind, str] = {kind: self._version_of(kind, served) for kind in _KINDS}
        now[Kind.NAMESPACE] = RESOURCES[Kind.NAMESPACE].version if now[Kind.GATEWAY] else ""
        changes = {kind: version for kind, version in now.items() if self._versions.get(kind) != version}
        self._versions = now
        return changes

    def _version_of(self, kind: Kind, served: Mapping[str, Collection[str]]) -> str:
        for version in _versions(kind):
            if RESOURCES[kind].plural in served.get(version, ()):
                self._missed.discard(kind)
                return version
        known = self._versions.get(kind, "")
        if not known or kind in self._missed:
            self._missed.discard(kind)
            return ""
        self._missed.add(kind)
        return known


def _versions(kind: Kind) -> tuple[str, ...]:
    """The versions at which a kind may be read, the best first."""
    if kind is Kind.ZONE_POLICY:
        return (ZONE_POLICY_VERSION,)
    return VERSIONS if kind in _BETA else VERSIONS[:1]


def told(changes: Mapping[Kind, str]) -> str:
    """What a look has changed, as the end of a sentence about the API server."""
    served = _listed(f"{kind.value} {changes[kind]}" for kind in _KINDS if changes.get(kind))
    absent = _listed(kind.value for kind in _KINDS if changes.get(kind) == "")
    return "; ".join((*(["serves " + served] if served else []), *(["does not serve " + absent] if absent else [])))


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names)
