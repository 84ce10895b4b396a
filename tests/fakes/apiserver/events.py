"""Events in their two shapes: of events.k8s.io, as the store holds them, and of the core group.

Responsible for names of fields. It must not know what an Event is about.
"""

from __future__ import annotations

from tests.fakes.apiserver.kinds import CORE_EVENT, EVENT, Document

_CORE_NAMES = {
    "note": "message",
    "regarding": "involvedObject",
    "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
    "reportingController": "reportingComponent",
}
_NAMES = {core: name for name, core in _CORE_NAMES.items()}


def as_core(document: Document) -> Document:
    """An Event of events.k8s.io as the core group shows it."""
    return {_CORE_NAMES.get(name, name): value for name, value in document.items()} | {
        "apiVersion": CORE_EVENT.api_version
    }


def from_core(document: Document) -> Document:
    """An Event of the core group as it is stored."""
    return {_NAMES.get(name, name): value for name, value in document.items()} | {"apiVersion": EVENT.api_version}
