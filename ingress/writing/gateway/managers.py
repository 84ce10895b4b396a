"""Reads from a list of one object who else has written its status (metadata.managedFields)."""

from __future__ import annotations

import msgspec


class _ManagedFields(msgspec.Struct, frozen=True):
    manager: str = ""
    subresource: str = ""
    time: str = ""


class _ManagedMetadata(msgspec.Struct, frozen=True, rename="camel"):
    managed_fields: tuple[_ManagedFields, ...] | None = None


class _ManagedItem(msgspec.Struct, frozen=True):
    metadata: _ManagedMetadata = _ManagedMetadata()


class _ManagedList(msgspec.Struct, frozen=True):
    items: tuple[_ManagedItem, ...] | None = None


def other_manager(body: bytes, *, own: str) -> str:
    """The field manager other than `own` that wrote a status last; empty if none did, or the list is unreadable."""
    try:
        items = msgspec.json.decode(body, type=_ManagedList).items or ()
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return ""
    entries = (each for item in items for each in item.metadata.managed_fields or ())
    others = [each for each in entries if each.subresource == "status" and each.manager != own]
    return max(others, key=lambda each: each.time).manager if others else ""
