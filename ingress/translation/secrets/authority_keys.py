"""Keys of authorities whose certificates are in ConfigMaps, beside those that are in a Secret (`namespace/name`)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

_BEGIN: Final = "configmaps/"


def config_maps_key(names: Iterable[tuple[str, str]]) -> str:
    """The key of the authorities in these ConfigMaps, by namespace and name, together."""
    return _BEGIN + ",".join(f"{namespace}/{name}" for namespace, name in names)


def config_maps_of(key: str) -> tuple[tuple[str, str], ...]:
    """The ConfigMaps of a key; none if it is that of a Secret."""
    if not key.startswith(_BEGIN):
        return ()
    pairs = (each.partition("/") for each in key.removeprefix(_BEGIN).split(","))
    return tuple((namespace, name) for namespace, _, name in pairs)
