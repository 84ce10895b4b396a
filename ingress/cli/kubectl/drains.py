"""Edits the list of drained zones: the ConfigMap's key zone-drain.

Pure. Does not know who reads and writes the ConfigMap.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

KEY: Final = "zone-drain"


class Settings(msgspec.Struct, frozen=True):
    """The drained zones of a ConfigMap, and the version at which they were read."""

    version: str
    drained: tuple[str, ...]


class _ConfigMapMetadata(msgspec.Struct, rename="camel"):
    resource_version: str = ""


class _ConfigMap(msgspec.Struct):
    metadata: _ConfigMapMetadata
    data: dict[str, str] | None = None


def settings_of(body: bytes) -> Settings:
    """What a ConfigMap says. Raises `ValueError`."""
    try:
        found = msgspec.json.decode(body, type=_ConfigMap)
    except msgspec.DecodeError as error:
        raise ValueError(f"the ConfigMap cannot be read: {error}") from None
    zones = (found.data or {}).get(KEY, "").split(",")
    return Settings(found.metadata.resource_version, _ordered(zone.strip() for zone in zones))


def with_zone(drained: tuple[str, ...], zone: str) -> tuple[str, ...]:
    """The drained zones and one more."""
    return _ordered((*drained, zone))


def without(drained: tuple[str, ...], zone: str | None) -> tuple[str, ...]:
    """The drained zones except for one; None: except for all."""
    return tuple(each for each in drained if zone is not None and each != zone)


def patch(settings: Settings, drained: tuple[str, ...]) -> bytes:
    """A JSON merge patch (RFC 7386). The API server refuses it if the ConfigMap has changed since it was read."""
    return msgspec.json.encode(
        {"metadata": {"resourceVersion": settings.version}, "data": {KEY: ",".join(drained) if drained else ""}}
    )


def _ordered(zones: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({zone for zone in zones if zone}))
