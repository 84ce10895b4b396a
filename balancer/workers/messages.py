"""What the parent and a worker say to each other, and how it is written on a stream.

Responsible for the words and for their bounds: whatever is no message breaks the channel, and no length that is read
makes anybody wait for, or keep, more than the bound. It must not know what carries the bytes.
"""

from __future__ import annotations

from typing import Final, Generic, Protocol, TypeVar

import msgspec

from balancer.explaining import Explanation
from balancer.model import Certificate
from balancer.workers.background import RecordedBackground
from balancer.workers.deltas import Piece

MESSAGE_BYTES_MAX: Final = 64 * 1024 * 1024
"""Of one message without its length; `deltas.pieces` keeps far below it."""

_LENGTH_BYTES: Final = 4


class WorkerStart(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker is started with, as the JSON of its one argument. The descriptors are inherited.

    `number` names the worker in logs. `counters` is a file of `TABLE_BYTES`, `access_log` the write end of a pipe,
    `access_log_format` a value of `AccessLogFormat`, `event_loop` asyncio, uvloop or auto. `has_publication`: one
    is on its way already, and no connection is accepted before it is served.
    """

    number: int
    channel: int
    http: int
    https: int
    counters: int
    access_log: int
    access_log_format: str = "json"
    log_level: str = "info"
    log_format: str = "text"
    event_loop: str = "auto"
    has_publication: bool = False


class Fallback(msgspec.Struct, frozen=True, tag=True):
    """The certificate of handshakes that no other fits, the same of every worker. The first message, said once.

    Not in `WorkerStart`: everybody on the machine may read the arguments of a process.
    """

    certificate: Certificate


class Ping(msgspec.Struct, frozen=True, tag=True):
    """Asks for a `Pong` of the same number, with a report or without."""

    number: int
    wants_report: bool = False


class ExplainAsked(msgspec.Struct, frozen=True, tag=True):
    """Asks for an `Explained` of the same number. The request is as `balancer.asking.question_of` takes it."""

    number: int
    url: str
    fields: tuple[str, ...]
    client: str
    background: RecordedBackground


class DrainNow(msgspec.Struct, frozen=True, tag=True):
    """Drain as `Worker.drain` does, and exit with status 0. Only the first one counts."""

    grace_seconds: float
    limit_seconds: float


class Accepting(msgspec.Struct, frozen=True, tag=True):
    """The worker accepts connections on both of its listeners. Said once."""


class Serving(msgspec.Struct, frozen=True, tag=True):
    """The worker serves this publication from now on."""

    generation: int


class WorkerReport(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker knows at one moment, for the metrics; the last item of each is the number.

    `connections` by state; `left_out` are ready endpoints that health leaves out by namespace, Service and zone;
    `spill_ratios` by namespace and Service; `overload_factors` by namespace, Service and zone.
    """

    connections: tuple[tuple[str, int], ...] = ()
    left_out: tuple[tuple[str, str, str, int], ...] = ()
    spill_ratios: tuple[tuple[str, str, float], ...] = ()
    overload_factors: tuple[tuple[str, str, str, float], ...] = ()
    event_loop_lag_seconds: float = 0.0


class Pong(msgspec.Struct, frozen=True, tag=True):
    """The answer to a `Ping`."""

    number: int
    report: WorkerReport | None = None


class Explained(msgspec.Struct, frozen=True, tag=True):
    """The answer to an `ExplainAsked`; without an explanation `problem` says what is wrong with the question."""

    number: int
    explanation: Explanation | None
    problem: str = ""


class Refused(msgspec.Struct, frozen=True, tag=True):
    """The worker cannot serve this publication, a mistake of ours; it goes on with what it said that it serves."""

    generation: int
    problem: str


class Retiring(msgspec.Struct, frozen=True, tag=True):
    """The worker was told to end (SIGTERM). It serves on until its successor does and it hears `DrainNow`."""


ToWorker = Fallback | Piece | Ping | ExplainAsked | DrainNow
ToParent = Accepting | Serving | Refused | Pong | Explained | Retiring


class Unreadable(msgspec.Struct, frozen=True):
    """In the place of a piece whose content does not fit the types of a model. Never sent."""

    generation: int
    problem: str


class _PieceHead(msgspec.Struct, tag="Piece"):
    generation: int


class _WorkerDecoder:
    """Of what workers hear. A piece that cannot be read is a mistake of ours that must not end them all."""

    __slots__ = ("_head", "_whole")

    def __init__(self) -> None:
        self._whole: msgspec.msgpack.Decoder[ToWorker] = msgspec.msgpack.Decoder(ToWorker)
        self._head = msgspec.msgpack.Decoder(_PieceHead)

    def decode(self, data: memoryview, /) -> ToWorker | Unreadable:
        try:
            return self._whole.decode(data)
        except msgspec.ValidationError as error:
            return Unreadable(self._head.decode(data).generation, str(error))


TO_WORKER: Final = _WorkerDecoder()
TO_PARENT: Final = msgspec.msgpack.Decoder(ToParent)

_encoder: Final = msgspec.msgpack.Encoder()

# msgspec checks UTF-8 and nesting with Python's own errors, outside its tree.
_GARBAGE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)

_Message = TypeVar("_Message")
_Decoded_co = TypeVar("_Decoded_co", covariant=True)


class Decodes(Protocol[_Decoded_co]):
    """Makes messages of bytes; `TO_WORKER` or `TO_PARENT`."""

    def decode(self, data: memoryview, /) -> _Decoded_co:
        """The message that `data` is. Raises msgspec.DecodeError, UnicodeDecodeError and RecursionError."""


class BrokenChannel(Exception):
    """Bytes that are no message, or a message beyond the bound."""


class NotSayable(Exception):
    """A message that cannot be written, or is beyond the bound. Nobody has heard anything of it."""


# What msgspec raises for numbers beyond 64 bits, lone surrogates, types that it does not know, and depth.
_NOT_SAYABLE: Final = (OverflowError, UnicodeEncodeError, TypeError, ValueError, RecursionError, MemoryError)


def encode(message: ToWorker | ToParent) -> bytes:
    """`message` as it goes on the stream, with its length in front. Raises `NotSayable`."""
    framed = bytearray(_LENGTH_BYTES)
    try:
        _encoder.encode_into(message, framed, _LENGTH_BYTES)
    except _NOT_SAYABLE as error:
        raise NotSayable(f"{type(error).__name__}: {error}") from None
    length = len(framed) - _LENGTH_BYTES
    if length > MESSAGE_BYTES_MAX:
        raise NotSayable(f"a message of {length} bytes is longer than {MESSAGE_BYTES_MAX}")
    framed[:_LENGTH_BYTES] = length.to_bytes(_LENGTH_BYTES, "big")
    return bytes(framed)


class MessageReader(Generic[_Message]):
    """Cuts a stream into messages and decodes one at a time, so that its reader may do other things in between."""

    __slots__ = ("_begin", "_buffer", "_decoder")

    def __init__(self, decoder: Decodes[_Message]) -> None:
        """`decoder` is `TO_WORKER` or `TO_PARENT`."""
        self._decoder = decoder
        self._buffer = bytearray()
        self._begin = 0

    def feed(self, data: bytes | bytearray | memoryview) -> None:
        """Take in the next bytes of the stream."""
        if self._begin:
            del self._buffer[: self._begin]
            self._begin = 0
        self._buffer += data

    def has_whole(self) -> bool:
        """Whether `next_message` has something to give, or to raise."""
        length = self._length()
        return length > MESSAGE_BYTES_MAX or 0 <= length <= len(self._buffer) - self._begin - _LENGTH_BYTES

    def next_message(self) -> _Message | None:
        """The next message, or None before its last byte has come. Raises `BrokenChannel`, and then for ever."""
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
        """The length of the message that begins here, -1 where that is not known yet."""
        prefix = self._buffer[self._begin : self._begin + _LENGTH_BYTES]
        return int.from_bytes(prefix, "big") if len(prefix) == _LENGTH_BYTES else -1
