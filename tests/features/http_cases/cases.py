"""The cases as data: what is sent, piece by piece, and in how many ways it is cut.

Responsible for the grammar of the file (`meta.parts_grammar`). It must not know sockets, nor what is right.
"""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Iterator
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

_FILE = Path(__file__).parents[2] / "cases" / "http_cases.json"
_NOT_OFFERED = "h2-downgrade"  # HTTP/2 is not served
_CUT_LIMIT_BYTES = 64 * 1024  # beyond it, one byte per write would only test patience
_RANDOM_CUTS = 64
_TIME_SCALE = 0.1  # pauses of the file are meant for deadlines of minutes; here they are seconds
_BOMB_MEMBERS = 1000


class Way(Enum):
    """How the bytes of a case are cut into writes."""

    ONE_WRITE = "one write"
    BYTES = "one byte per write"
    LINES = "split at each CRLF"
    RANDOM = "64 random cuts"


class Send(msgspec.Struct, frozen=True):
    """Bytes; `every_seconds` not None: they go out piece by piece, cut as they are, with that pause after each."""

    pieces: tuple[bytes, ...]
    every_seconds: float | None = None


class Pause(msgspec.Struct, frozen=True):
    seconds: float


class Act(msgspec.Struct, frozen=True):
    """FIN, RST, READ (slowly, `argument` is bytes:milliseconds) or BLACKHOLE."""

    name: str
    argument: str = ""


Step = Send | Pause | Act


class Case(msgspec.Struct, frozen=True):
    """One case as the file has it."""

    id: str
    side: str
    category: str
    title: str
    accept: list[str]
    status: list[int] = []
    forbid: list[str] = []
    raw: str | None = None
    parts: list[Any] | None = None
    segments: list[dict[str, Any]] | None = None
    client_request: str = ""
    tls: dict[str, Any] = {}

    @property
    def steps(self) -> tuple[Step, ...]:
        """What the hostile side does: the client, or the endpoint where `side` is response."""
        if self.segments is not None:
            return tuple(step for segment in self.segments for step in _segment(segment))
        return (Send((b"".join(_expand(self.raw if self.raw is not None else self.parts)),)),)

    @property
    def ways(self) -> tuple[Way, ...]:
        size = sum(len(piece) for step in self.steps if isinstance(step, Send) for piece in step.pieces)
        dripping = any(isinstance(step, Send) and step.every_seconds is not None for step in self.steps)
        if size > _CUT_LIMIT_BYTES and not dripping:
            return Way.ONE_WRITE, Way.RANDOM
        return Way.ONE_WRITE, Way.BYTES, Way.LINES


@cache
def all_cases() -> tuple[Case, ...]:
    """Every case of the file but those of HTTP/2."""
    cases = msgspec.convert(json.loads(_FILE.read_text(encoding="utf-8"))["cases"], list[Case])
    return tuple(case for case in cases if case.category != _NOT_OFFERED)


def cut(data: bytes, way: Way, *, seed: str) -> list[bytes]:
    """`data` in the pieces that are written one by one."""
    if way is Way.BYTES:
        return [data[place : place + 1] for place in range(len(data))]
    if way is Way.LINES:
        return [line for line in _split_lines(data) if line]
    if way is Way.RANDOM:
        places = sorted(random.Random(seed).sample(range(1, len(data)), _RANDOM_CUTS))
        return [data[start:end] for start, end in zip([0, *places], [*places, len(data)], strict=True)]
    return [data] if data else []


def _split_lines(data: bytes) -> list[bytes]:
    lines = data.split(b"\r\n")
    return [line + b"\r\n" for line in lines[:-1]] + lines[-1:]


def _segment(segment: dict[str, Any]) -> Iterator[Step]:
    if "action" in segment:
        yield Act(segment["action"], segment.get("args", ""))
    elif isinstance(segment["send"], list):
        for drip in segment["send"]:
            yield Send((drip["drip"].encode("latin-1"),) * drip["times"], drip["every_ms"] / 1000 * _TIME_SCALE)
    else:
        yield Send((segment["send"].encode("latin-1"),))
    if segment["wait_ms"]:
        yield Pause(segment["wait_ms"] / 1000 * _TIME_SCALE)


def _expand(parts: Any) -> Iterator[bytes]:
    if isinstance(parts, str):
        yield parts.encode("latin-1")
    elif isinstance(parts, list):
        for part in parts:
            yield from _expand(part)
    elif "repeat" in parts:
        yield b"".join(_expand(parts["repeat"])) * parts["times"]
    elif "repeat_with_index" in parts:
        text = b"".join(_expand(parts["repeat_with_index"]))
        yield from (text.replace(b"%d", b"%d" % index) for index in range(parts["times"]))
    else:
        assert parts["coding"] == "chunked"
        file = generated_file(parts["file"])
        yield b"%x\r\n%b\r\n0\r\n\r\n" % (len(file), file)


@cache
def generated_file(name: str) -> bytes:
    """The one file that cases name: 10 MB that unpack to 10 GB of zeros, as gzip members one after the other."""
    assert name == "bomb-10MB-to-10GB.gz"
    return gzip.compress(bytes(10 * 1024 * 1024), mtime=0) * _BOMB_MEMBERS
