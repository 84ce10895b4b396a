"""Defines what a replica tells another one, and reads it strictly. No I/O.

A message holds running totals, never rates or times: a message that is lost costs delay only. Fields that a reader does
not know are ignored, so replicas of two versions understand each other.
"""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Final

import msgspec
from msgspec import Meta

SCHEMA: Final = 2
MESSAGE_BYTES_MOST: Final = 1024 * 1024
ROWS_MOST: Final = 4096
FAILURES_MOST: Final = 1024
LEFT_MOST: Final = 1024
FLOWS_MOST: Final = 256

_WORD_MOST: Final = 2**53
Total = Annotated[int, Meta(ge=0, le=_WORD_MOST)]
"""A running total, which only grows while a replica lives."""

_Name = Annotated[str, Meta(min_length=1, max_length=512)]


class MessageRefusal(Enum):
    """Why a message was refused, or (the last four) a connection. No part of a refused message counts."""

    TOO_LONG = "too_long"
    TOO_MANY = "too_many"
    TOO_MUCH = "too_much"
    MALFORMED = "malformed"
    REPLAYED = "replayed"
    FALLING = "falling"
    IMPLAUSIBLE = "implausible"
    CROWDED = "crowded"
    DISTRUSTED = "distrusted"
    OWN = "own"
    EXPIRED = "expired"
    STRANGER = "stranger"
    NOISE = "noise"
    TOO_OFTEN = "too_often"


class MessageRefused(Exception):
    """Raised for a message that does not count."""

    def __init__(self, refusal: MessageRefusal) -> None:
        super().__init__(refusal.value)
        self.refusal = refusal


class Picks(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The requests of a Service (`namespace/name`) for which a replica picked an endpoint."""

    service: _Name
    total: Total


class SpentRow(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What a replica was asked and let pass of a client of a limit. `limit` and `key` are numbers below 2**64."""

    limit: Annotated[int, Meta(ge=1)]
    key: Annotated[int, Meta(ge=1)]
    asked: Total
    passed: Total


class SeenTable(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What the workers of a replica saw of many things: their numbers (`tags`, below 2**52), running totals and states,
    column by column. Words have 8 bytes, the lowest first: tags are integers, all others floats.

    Of loads the totals are the six of `balancer.sharing.peers.Seen`, and the state a share and a baseline. Of zones
    they are answers and failures of `ZoneSeen` by place, and the seconds of good answers.
    """

    tags: bytes
    totals: bytes
    state: bytes = b""


class SeenRow(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A row of a `SeenTable` as schema 1 has it: a share is of 10,000 there, and times are microseconds."""

    tag: Annotated[int, Meta(ge=1, lt=2**52)]
    totals: Annotated[tuple[Total, ...], Meta(min_length=6, max_length=33)]
    state: Annotated[tuple[Total, ...], Meta(max_length=2)] = ()


class FailureRow(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """How an endpoint (`address:port`) of a backend does at a replica: failures in a row, and whether it answered since
    the first of them, or since others suspect it.
    """

    backend: _Name
    endpoint: Annotated[str, Meta(min_length=1, max_length=128)]
    failures: Annotated[int, Meta(ge=0, le=_WORD_MOST)]
    answers: bool


class LeftRow(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A zone that requests of a backend leave at a replica, because its answers fail."""

    backend: _Name
    zone: Annotated[str, Meta(min_length=1, max_length=63)]


class HealthRow(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The answers of a replica to requests for a namespace, and how many of them failed for want of an endpoint's."""

    namespace: Annotated[str, Meta(min_length=1, max_length=63)]
    answers: Total
    failed: Total


class FlowRow(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The requests of a replica from its zone to a zone: how many, how many answers were errors, and bytes of bodies to
    and from endpoints. Only shown.
    """

    from_zone: Annotated[str, Meta(min_length=1, max_length=63)]
    to_zone: Annotated[str, Meta(min_length=1, max_length=63)]
    requests: Total
    errors: Total
    sent_bytes: Total
    received_bytes: Total


class Message(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What a replica knows. `number` grows with each message of a replica.

    `name` is for people. `zone` is where the replica runs, empty if unknown. The next message comes within `seconds`.
    `failing` are all endpoints that fail or are suspected, `left` all zones that requests leave; None: the same as
    before. `away`: the replica says that it is not ready, because its links are sick. `counted`: a total of requests
    that is not among `picks` is the same as before; without it, nothing is said about other totals.

    `load_table` and `zone_table` go to replicas of the same zone only; `loads` and `zones` are the same for replicas of
    schema 1.
    """

    schema: Annotated[int, Meta(ge=1, le=_WORD_MOST)] = SCHEMA
    number: Annotated[int, Meta(ge=1, le=_WORD_MOST)]
    name: Annotated[str, Meta(max_length=253)] = ""
    zone: Annotated[str, Meta(max_length=63)] = ""
    seconds: Annotated[float, Meta(ge=0.1, le=5.0)] = 5.0
    picks: Annotated[tuple[Picks, ...], Meta(max_length=ROWS_MOST)] = ()
    spent: Annotated[tuple[SpentRow, ...], Meta(max_length=ROWS_MOST)] = ()
    loads: Annotated[tuple[SeenRow, ...], Meta(max_length=ROWS_MOST)] = ()
    zones: Annotated[tuple[SeenRow, ...], Meta(max_length=ROWS_MOST)] = ()
    load_table: SeenTable | None = None
    zone_table: SeenTable | None = None
    health: Annotated[tuple[HealthRow, ...], Meta(max_length=ROWS_MOST)] = ()
    flows: Annotated[tuple[FlowRow, ...], Meta(max_length=FLOWS_MOST)] = ()
    failing: Annotated[tuple[FailureRow, ...], Meta(max_length=FAILURES_MOST)] | None = None
    left: Annotated[tuple[LeftRow, ...], Meta(max_length=LEFT_MOST)] | None = None
    away: bool = False
    counted: bool = False


_PARTS: Final = ("picks", "spent", "loads", "zones", "load_table", "zone_table", "health", "flows")
_NOTHING: Final = Message(number=1)
_ENCODER: Final = msgspec.msgpack.Encoder()
_DECODER: Final = msgspec.msgpack.Decoder(Message)


def encode(message: Message) -> bytes:
    """The message as it goes on the wire."""
    return _ENCODER.encode(message)


def encoded_within(message: Message) -> bytes:
    """The message as it goes on the wire, without its largest parts if it would be too long to be read as a whole.

    What is left out comes when it has changed, or when everything is told again. Failing endpoints and zones that are
    left are never left out.
    """
    data = encode(message)
    while len(data) > MESSAGE_BYTES_MOST:
        sizes = {part: len(_ENCODER.encode(getattr(message, part))) for part in _PARTS}
        largest = max(sizes, key=sizes.__getitem__)
        message = msgspec.structs.replace(message, **{largest: getattr(_NOTHING, largest)})
        if largest == "picks":
            message = msgspec.structs.replace(message, counted=False)  # their totals are not the same as before
        data = encode(message)
    return data


def decode(data: bytes) -> Message:
    """The message in `data`. Raises `MessageRefused`."""
    if len(data) > MESSAGE_BYTES_MOST:
        raise MessageRefused(MessageRefusal.TOO_LONG)
    try:
        return _DECODER.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise MessageRefused(MessageRefusal.MALFORMED) from None
