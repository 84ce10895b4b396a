"""Edits the list of drained zones: the ConfigMap's key zone-drain.

Pure: the time is an argument. Does not know who reads and writes the ConfigMap.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime
from math import inf
from typing import Final

import msgspec

from ingress.settings.values import InvalidValue, duration
from ingress.settings.zone_values import ZoneDrain, zone_drains

KEY: Final = "zone-drain"


class Settings(msgspec.Struct, frozen=True):
    """The drains as a ConfigMap has them (`zone-a`, `zone-b until=…`), and the version at which they were read."""

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


def with_drain(drained: tuple[str, ...], zone: str, *, until: str = "") -> tuple[str, ...]:
    """The drains and one more, which replaces another of the same zone. `until` is a time of RFC 3339, or empty."""
    return _ordered((*without(drained, zone), f"{zone} until={until}" if until else zone))


def without(drained: tuple[str, ...], zone: str | None) -> tuple[str, ...]:
    """The drains except for that of one zone; None: except for all."""
    return tuple(each for each in drained if zone is not None and zone_of(each) != zone)


def zone_of(drain: str) -> str:
    """The zone of a drain, whether its end is valid or not."""
    return drain.split(" ", 1)[0]


def zones_left(drained: tuple[str, ...], *, now_epoch_seconds: float) -> frozenset[str]:
    """The zones of the drains that are not over."""
    return frozenset(map(zone_of, drained)) - {
        end.zone for end in _with_end(drained) if (end.until_epoch_seconds or inf) <= now_epoch_seconds
    }


def end_of(text: str, *, now_epoch_seconds: float) -> str:
    """The end of a drain as zone-drain has it, from a duration from now (`2h`) or a time of RFC 3339.

    Raises `ValueError` for anything else, and for a time that has passed.
    """
    at = _end_at(text, now_epoch_seconds)
    if at is None:
        raise ValueError("use a duration such as 2h, or a time such as 2027-01-31T18:00:00Z")
    if at <= now_epoch_seconds:
        raise ValueError("this time has passed")
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def patch(settings: Settings, drained: tuple[str, ...]) -> bytes:
    """A JSON merge patch (RFC 7386). The API server refuses it if the ConfigMap has changed since it was read."""
    return msgspec.json.encode(
        {"metadata": {"resourceVersion": settings.version}, "data": {KEY: ",".join(drained) if drained else ""}}
    )


def _end_at(text: str, now_epoch_seconds: float) -> float | None:
    with suppress(InvalidValue):
        return now_epoch_seconds + duration(text)
    found = _with_end((f"zone until={text}",))
    return found[0].until_epoch_seconds if len(found) == 1 else None


def _with_end(drained: Iterable[str]) -> list[ZoneDrain]:
    found: list[ZoneDrain] = []
    for each in drained:
        with suppress(InvalidValue):
            found += zone_drains(each)
    return found


def _ordered(zones: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({zone for zone in zones if zone}))
