"""The hints of an endpoint: for which zones and nodes somebody has meant it (discovery/v1 EndpointHints).

Responsible for reading them from whatever a document holds there. Hints are advice, so a mistake in them costs the
hints and not the endpoint. It must not know what follows from hints.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import msgspec

from ingress.names import LABEL_VALUE, SUBDOMAIN

# discovery/v1 validation: so many entries of each kind.
_MOST = 8


class EndpointHints(msgspec.Struct, frozen=True):
    """Names in the order of the alphabet, each once; `malformed` hints have none."""

    zones: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    malformed: bool = False


class _Named(msgspec.Struct, frozen=True):
    name: str


class _Wire(msgspec.Struct, frozen=True, rename="camel"):
    for_zones: tuple[_Named, ...] | None = None
    for_nodes: tuple[_Named, ...] | None = None


_MALFORMED = EndpointHints(malformed=True)


def read_hints(document: object) -> EndpointHints | None:
    """The hints in a parsed document, None if there are none. Never raises.

    Malformed are wrong types, more than 8 names of a kind (discovery/v1 validation), zones that no label can hold (an
    empty one among them, which the API lets pass and which no zone has), and nodes without a valid name.
    """
    if isinstance(document, EndpointHints) or document is None:
        return document
    try:
        wire = msgspec.convert(document, _Wire)
    except (msgspec.ValidationError, UnicodeError, RecursionError):
        return _MALFORMED
    zones, nodes = _names(wire.for_zones), _names(wire.for_nodes)
    return _interned(zones, nodes) if zones or nodes else None


def _names(entries: Iterable[_Named] | None) -> tuple[str, ...]:
    return tuple(entry.name for entry in entries or ())


# The same few hints come with every endpoint of a cluster: one value serves all of them.
@lru_cache(maxsize=4096)
def _interned(zones: tuple[str, ...], nodes: tuple[str, ...]) -> EndpointHints:
    too_many = len(zones) > _MOST or len(nodes) > _MOST
    if too_many or not all(map(LABEL_VALUE.fullmatch, zones)) or not all(map(SUBDOMAIN.fullmatch, nodes)):
        return _MALFORMED
    return EndpointHints(tuple(sorted(set(zones))), tuple(sorted(set(nodes))))
