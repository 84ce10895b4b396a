"""The cases as data, and what their strings stand for (`meta.strings` of the file).

Responsible for the grammar of the file. It must not know sockets, nor what is right.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from tests.features.http2.frames import literal, number

_FILE = Path(__file__).parents[2] / "cases" / "http2.json"
_LITERALS = {"inc": 0x40, "never": 0x10}


class Way(Enum):
    """How the bytes of a case are cut into writes."""

    ONE_WRITE = "one write"
    FRAMES = "one frame per write"
    BYTES = "one byte per write"


class Case(msgspec.Struct, frozen=True):
    """One case as the file has it."""

    id: str
    category: str
    title: str
    rule: str
    do: list[list[Any]]
    accept: list[str]
    hello: str = ""
    answer: bool = True
    stream: int = 1
    subject: str = ""
    see: dict[str, Any] = {}
    also: list[int] = []
    needs: str = ""
    wait_ms: int = 0
    flood: dict[str, Any] | None = None
    endpoint_most: int | None = None
    side: str = "client"
    endpoint: list[list[list[Any]]] = []
    endpoint_settings: list[list[int]] = []
    endpoint_notes: list[str] = []
    most_streams: int | None = None

    @property
    def ways(self) -> tuple[Way, ...]:
        """A flood, and what many bytes are needed for, is not sent byte by byte: that would only test patience."""
        if self.flood is not None:
            return (Way.ONE_WRITE,)
        long = any(isinstance(size := fill, int) and size > 1_000 for fill in _fills(self.do))
        return (Way.ONE_WRITE, Way.FRAMES) if long else (Way.ONE_WRITE, Way.FRAMES, Way.BYTES)


def _fills(value: Any) -> list[int]:
    if isinstance(value, dict):
        return [value["fill"]] if "fill" in value else [size for each in value.values() for size in _fills(each)]
    return [size for each in value for size in _fills(each)] if isinstance(value, list) else []


@cache
def all_cases() -> tuple[Case, ...]:
    """Every case of the file, with more time for calls: none is about its deadline, and a busy machine is slow."""
    text = _FILE.read_text(encoding="utf-8").replace('["grpc-timeout", "2S"]', '["grpc-timeout", "30S"]')
    return tuple(msgspec.convert(json.loads(text)["cases"], list[Case]))


def octets(value: Any) -> bytes:
    """The bytes that a string of the file stands for."""
    if isinstance(value, str):
        return value.encode("latin-1")
    if isinstance(value, list):
        return b"".join(map(octets, value))
    if "hex" in value:
        return bytes.fromhex(str(value["hex"]))
    pattern = octets(value.get("of", "a"))
    size = int(value["fill"])
    return (pattern * (size // len(pattern) + 1))[:size]


def digits(value: Any) -> bytes:
    """The same where only bytes can stand: a bare string is hexadecimal."""
    if isinstance(value, list):
        return b"".join(map(digits, value))
    return bytes.fromhex(value) if isinstance(value, str) else octets(value)


def block(items: Sequence[Sequence[Any]]) -> bytes:
    """A header block, item by item."""
    return b"".join(map(_item, items))


def _item(item: Sequence[Any]) -> bytes:
    match item:
        case ["idx", int(index)]:
            return number(index, 7, 0x80)
        case ["size", int(size)]:
            return number(size, 5, 0x20)
        case ["hex", str(text)]:
            return bytes.fromhex(text)
        case ["many", count, inner]:
            return bytes(_item(inner) * count)
        case [("inc" | "never") as how, name, value]:
            return literal(octets(name), octets(value), _LITERALS[how])
        case [name, value]:
            return literal(octets(name), octets(value))
    raise ValueError(item)
