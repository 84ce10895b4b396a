"""Reads the hints of an endpoint: the zones and nodes for which it is meant (discovery/v1 EndpointHints).

Accepts anything that a document may hold there. Hints are advice, so a mistake in them drops the hints and not the
endpoint. Does not know what follows from hints.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import msgspec

from ingress.objects.names import LABEL_VALUE, SUBDOMAIN

# discovery/v1 validation allows so many entries of each kind.
_MOST = 8


class EndpointHints(msgspec.Struct, frozen=True):
    """Names in alphabetical order, each once. `malformed` hints have no names."""

    zones: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    malformed: bool = False


class _HintTarget(msgspec.Struct, frozen=True):
    name: str


class _HintsDocument(msgspec.Struct, frozen=True, rename="camel"):
    for_zones: tuple[_HintTarget, ...] | None = None
    for_nodes: tuple[_HintTarget, ...] | None = None


_SEEN = msgspec.json.Decoder(_HintsDocument)  # threads must not be the first to see a type
_MALFORMED = EndpointHints(malformed=True)


def read_hints(document: object) -> EndpointHints | None:
    """The hints in a parsed document, or None if there are none. Never raises.

    Hints are malformed if a type is wrong, if there are more than 8 names of a kind (discovery/v1 validation), if no
    label can hold a zone (such as an empty zone, which the API accepts and no zone has), or if the name of a node is
    invalid.
    """
    if isinstance(document, EndpointHints) or document is None:
        return document
    try:
        wire = msgspec.convert(document, _HintsDocument)
    except (msgspec.ValidationError, UnicodeError, RecursionError):
        return _MALFORMED
    zones, nodes = _names(wire.for_zones), _names(wire.for_nodes)
    return _interned(zones, nodes) if zones or nodes else None


def _names(entries: Iterable[_HintTarget] | None) -> tuple[str, ...]:
    return tuple(entry.name for entry in entries or ())


# Every endpoint of a cluster has one of the same few hints, so one value serves them all.
@lru_cache(maxsize=4096)
def _interned(zones: tuple[str, ...], nodes: tuple[str, ...]) -> EndpointHints:
    too_many = len(zones) > _MOST or len(nodes) > _MOST
    if too_many or not all(map(LABEL_VALUE.fullmatch, zones)) or not all(map(SUBDOMAIN.fullmatch, nodes)):
        return _MALFORMED
    return EndpointHints(tuple(sorted(set(zones))), tuple(sorted(set(nodes))))
