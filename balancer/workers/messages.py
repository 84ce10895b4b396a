"""Defines the messages between the parent and a worker, and how they are written on a stream.

Bounds everything: bytes that are not a message break the channel, and no length on the stream makes a reader wait for,
or keep, more than the bound. Does not know what carries the bytes.
"""

from __future__ import annotations

from typing import Final, Generic, Protocol, TypeVar

import msgspec

from balancer.explain.drafts import Draft
from balancer.model.certificates import Certificate
from balancer.picking.failing import FailingRow
from balancer.workers.deltas import Piece

MESSAGE_BYTES_MAX: Final = 64 * 1024 * 1024
"""The limit of one message without its length. `deltas.pieces` stays far below it."""

_LENGTH_BYTES: Final = 4


class WorkerStart(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker is started with, as the JSON of its one argument. The worker inherits the descriptors.

    `number` names the worker in logs. `sockets` are descriptors by the names of sockets. `counters` is a file of
    `TABLE_BYTES`, `seat` a `Seat` of the shared memory, `access_log` the write end of a pipe, `access_log_format` a
    value of `AccessLogFormat`, `event_loop` asyncio, uvloop or auto. `compat_metrics` is as for a `Worker`, and
    `limit_store` is the file with the URL of the store. `has_publication`: one is already on its way, and the worker
    accepts no connection before it serves this publication. With `places`, the sockets of all places, the worker stands
    by: it accepts on those of the place that `TakePlace` names, instead of `sockets`.
    """

    number: int
    channel: int
    sockets: tuple[tuple[str, int], ...]
    counters: int
    seat: tuple[int, int, int]
    access_log: int
    access_log_format: str = "json"
    log_level: str = "info"
    log_format: str = "text"
    event_loop: str = "auto"
    compat_metrics: bool = False
    limit_store: str = ""
    has_publication: bool = False
    places: tuple[tuple[tuple[str, int], ...], ...] = ()


class Fallback(msgspec.Struct, frozen=True, tag=True):
    """The certificate of handshakes that no other certificate fits. Every worker gets the same, as its first message.

    Not in `WorkerStart`, because everybody on the machine may read the arguments of a process.
    """

    certificate: Certificate


class Ping(msgspec.Struct, frozen=True, tag=True):
    """Asks for a `Pong` of the same number, with or without a report.

    `about` is a Service, as namespace and name, whose endpoints the report describes one by one.
    """

    number: int
    wants_report: bool = False
    about: tuple[str, str] | None = None


class ExplainAsked(msgspec.Struct, frozen=True, tag=True):
    """Asks for an `Explained` of the same number. `balancer.explain.asking.question_of` reads the request."""

    number: int
    url: str
    fields: tuple[str, ...]
    client: str


class DrainNow(msgspec.Struct, frozen=True, tag=True):
    """Tells the worker to drain as `Worker.drain` does, and to exit with status 0. Only the first one counts."""

    grace_seconds: float
    limit_seconds: float


class TakePlace(msgspec.Struct, frozen=True, tag=True):
    """Tells a worker that stands by to accept connections in this place, under its number. Sent at most once."""

    number: int


class SuspectRow(msgspec.Struct, frozen=True, array_like=True):
    """Others have seen failures of an endpoint (`address:port`). `ejects`: they agree that it fails."""

    backend: str
    endpoint: str
    ejects: bool


class Suspects(msgspec.Struct, frozen=True, tag=True):
    """What other replicas say about endpoints; see `Worker.suspect`."""

    rows: tuple[SuspectRow, ...]


class SiblingNews(msgspec.Struct, frozen=True, tag=True):
    """What another worker of this replica says about endpoints; see `Worker.hear`."""

    rows: tuple[FailingRow, ...]


class Failing(msgspec.Struct, frozen=True, tag=True):
    """How endpoints do that failed lately, or that others suspect. Sent when that changes."""

    rows: tuple[FailingRow, ...]


class StandingBy(msgspec.Struct, frozen=True, tag=True):
    """The worker has what it needs to accept, and waits for `TakePlace`. Sent once."""


class Accepting(msgspec.Struct, frozen=True, tag=True):
    """The worker accepts connections on all of its sockets. Sent once."""


class Serving(msgspec.Struct, frozen=True, tag=True):
    """The worker serves this publication from now on."""

    generation: int


class MemberReport(msgspec.Struct, frozen=True):
    """What a worker knows about one endpoint, which is named by its backend and `address:port`.

    `latency_seconds` is the moving average of a balancer that measures it, else None. `ejected_seconds` is how long the
    endpoint is still ejected, None if it is not.
    """

    backend: str
    endpoint: str
    in_flight: int = 0
    latency_seconds: float | None = None
    ejected_seconds: float | None = None


class ZoneEvidence(msgspec.Struct, frozen=True):
    """How many answers came from a zone and from those that would receive its requests, and how many failed."""

    answers: int
    failed: int
    other_answers: int
    other_failed: int


class ZoneReport(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker knows about one zone of a backend, some of whose answers fail lately.

    `state` is a `balancer.zones.departure.DepartureStep`; `share` of the requests avoids the zone for `reason`.
    `answers` came from the zone lately, of which `failed` did; the `other_` ones from the zones that would receive its
    requests. `seconds` is how long requests have left the zone, or how long the state has lasted. `dry_run`: none
    really leaves. `staying` names those whose requests stay although others leave. `begun` is what decided that
    requests leave the zone; None if they do not.
    """

    namespace: str
    service: str
    backend: str
    zone: str
    state: str
    share: float = 0.0
    answers: int = 0
    failed: int = 0
    other_answers: int = 0
    other_failed: int = 0
    seconds: float = 0.0
    reason: str = "spill_errors"
    dry_run: bool = False
    staying: str = ""
    begun: ZoneEvidence | None = None


class WorkerReport(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker knows at one moment, for the metrics. The last item of each tuple is the number.

    `connections` by state; `left_out` are ready endpoints that health leaves out by namespace, Service and zone;
    `spill_ratios` by namespace and Service; `overload_factors` by namespace, Service and zone. `unwell` are some of the
    unhealthy endpoints, by backend and `address:port`, with the state (`ejected` or `fails_checks`). `zones` are some
    of those of backends with failing answers. `members` are the endpoints of the Service that was asked about.
    """

    connections: tuple[tuple[str, int], ...] = ()
    left_out: tuple[tuple[str, str, str, int], ...] = ()
    spill_ratios: tuple[tuple[str, str, float], ...] = ()
    overload_factors: tuple[tuple[str, str, str, float], ...] = ()
    unwell: tuple[tuple[str, str, str], ...] = ()
    zones: tuple[ZoneReport, ...] = ()
    members: tuple[MemberReport, ...] = ()
    event_loop_lag_seconds: float = 0.0


class Pong(msgspec.Struct, frozen=True, tag=True):
    """The answer to a `Ping`."""

    number: int
    report: WorkerReport | None = None


class Explained(msgspec.Struct, frozen=True, tag=True):
    """The answer to an `ExplainAsked`. Without a draft, `problem` says what is wrong with the question."""

    number: int
    draft: Draft | None
    problem: str = ""


class PublicationRefused(msgspec.Struct, frozen=True, tag=True):
    """A bug keeps the worker from serving this publication. It goes on with the last one that it reported."""

    generation: int
    problem: str


class Retiring(msgspec.Struct, frozen=True, tag=True):
    """The worker was told to end (SIGTERM). It serves until its successor serves and it receives `DrainNow`."""


ToWorker = Fallback | Piece | Ping | ExplainAsked | DrainNow | TakePlace | Suspects | SiblingNews
ToParent = StandingBy | Accepting | Serving | PublicationRefused | Pong | Explained | Retiring | Failing


class UnreadablePiece(msgspec.Struct, frozen=True):
    """Replaces a piece whose content does not fit the types of a model. Never sent."""

    generation: int
    problem: str


class _PieceHead(msgspec.Struct, tag="Piece"):
    generation: int


class _WorkerDecoder:
    """Decodes messages for workers. An unreadable piece is a bug, and must not end all workers."""

    __slots__ = ("_head", "_whole")

    def __init__(self) -> None:
        self._whole: msgspec.msgpack.Decoder[ToWorker] = msgspec.msgpack.Decoder(ToWorker)
        self._head = msgspec.msgpack.Decoder(_PieceHead)

    def decode(self, data: memoryview, /) -> ToWorker | UnreadablePiece:
        try:
            return self._whole.decode(data)
        except msgspec.ValidationError as error:
            return UnreadablePiece(self._head.decode(data).generation, str(error))


TO_WORKER: Final = _WorkerDecoder()
TO_PARENT: Final = msgspec.msgpack.Decoder(ToParent)

_encoder: Final = msgspec.msgpack.Encoder()

# msgspec reports invalid UTF-8 and deep nesting with Python's own errors, which are not among its own.
_GARBAGE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)

_Message = TypeVar("_Message")
_Decoded_co = TypeVar("_Decoded_co", covariant=True)


class Decodes(Protocol[_Decoded_co]):
    """Decodes bytes into messages: `TO_WORKER` or `TO_PARENT`."""

    def decode(self, data: memoryview, /) -> _Decoded_co:
        """The message in `data`. Raises msgspec.DecodeError, UnicodeDecodeError and RecursionError."""


class BrokenChannel(Exception):
    """The bytes are not a message, or the message exceeds the bound."""


class NotSayable(Exception):
    """A message that cannot be encoded or exceeds the bound. Nothing of it was sent."""


# What msgspec raises for numbers beyond 64 bits, lone surrogates, unknown types, and deep nesting.
_NOT_SAYABLE: Final = (OverflowError, UnicodeEncodeError, TypeError, ValueError, RecursionError, MemoryError)


def encode(message: ToWorker | ToParent, *, bytes_max: int = MESSAGE_BYTES_MAX) -> bytes:
    """`message` as it goes on the stream, with its length in front. Raises `NotSayable`, also beyond `bytes_max`."""
    framed = bytearray(_LENGTH_BYTES)
    try:
        _encoder.encode_into(message, framed, _LENGTH_BYTES)
    except _NOT_SAYABLE as error:
        raise NotSayable(f"{type(error).__name__}: {error}") from None
    length = len(framed) - _LENGTH_BYTES
    if length > bytes_max:
        raise NotSayable(f"a message of {length} bytes is longer than {bytes_max}")
    framed[:_LENGTH_BYTES] = length.to_bytes(_LENGTH_BYTES, "big")
    return bytes(framed)


class MessageReader(Generic[_Message]):
    """Cuts a stream into messages and decodes one at a time, so that the reader may do other work in between."""

    __slots__ = ("_begin", "_buffer", "_decoder")

    def __init__(self, decoder: Decodes[_Message]) -> None:
        """`decoder` is `TO_WORKER` or `TO_PARENT`."""
        self._decoder = decoder
        self._buffer = bytearray()
        self._begin = 0

    def feed(self, data: bytes | bytearray | memoryview) -> None:
        """Takes the next bytes of the stream."""
        if self._begin:
            del self._buffer[: self._begin]
            self._begin = 0
        self._buffer += data

    def has_whole(self) -> bool:
        """Whether `next_message` has something to return or to raise."""
        length = self._length()
        return length > MESSAGE_BYTES_MAX or 0 <= length <= len(self._buffer) - self._begin - _LENGTH_BYTES

    def next_message(self) -> _Message | None:
        """The next message, or None before its last byte has come. Raises `BrokenChannel`, from then on always."""
        if not self.has_whole():
            return None
        length = self._length()
        if length > MESSAGE_BYTES_MAX:
            raise BrokenChannel(f"a message of {length} bytes is longer than {MESSAGE_BYTES_MAX}")
        begin = self._begin + _LENGTH_BYTES
        with memoryview(self._buffer) as view, view[begin : begin + length] as body:
            try:
                message = self._decoder.decode(body)
            except _GARBAGE as error:
                raise BrokenChannel(f"not a message: {error}") from None
        self._begin = begin + length
        return message

    def _length(self) -> int:
        """The length of the next message, or -1 if its length has not come yet."""
        prefix = self._buffer[self._begin : self._begin + _LENGTH_BYTES]
        return int.from_bytes(prefix, "big") if len(prefix) == _LENGTH_BYTES else -1
