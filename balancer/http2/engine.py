"""Defines what an HTTP/2 engine does: bytes in, plain tuples out, faults as values. No I/O, no clock.

An engine knows frames, header compression, stream states and windows (RFC 9113, RFC 7541). It does not know what the
fields of a message mean; `requests` and `responses` do. `ngh2_engine` and `h2_engine` implement it with a library
each, and `engines` chooses. Nothing here raises because of what a peer sends.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

import msgspec

from balancer.http.messages import Fields
from balancer.http2.frames import Frames

if TYPE_CHECKING:
    from balancer.http2.budgets import Budgets

Event = tuple[Any, ...]
"""What happened: one of the kinds below, the number of the stream, and more as the kind says."""

HEAD = 0
"""(HEAD, stream, fields, ends): the head of a request (server) or of a final response (client)."""
INTERIM = 1
"""(INTERIM, stream, fields): the head of a 1xx response (client)."""
DATA = 2
"""(DATA, stream, data, ends): a piece of a body, which may be empty. Each of its bytes must be given back once."""
TRAILERS = 3
"""(TRAILERS, stream, fields): they end the message."""
RESET = 4
"""(RESET, stream, code): RST_STREAM of the peer. CLOSED follows."""
CLOSED = 5
"""(CLOSED, stream, code): the last event of a stream. `code` is 0 if both sides have ended their messages; otherwise
it is that of the RST_STREAM which either side sent, or REFUSED_STREAM if the peer's GOAWAY left out the stream."""
GOAWAY = 6
"""(GOAWAY, last_stream, code): the peer takes no stream above `last_stream`."""
SETTINGS = 7
"""(SETTINGS, 0): the peer's settings are in force; `peer_max_streams` is new."""
PING_ACK = 8
"""(PING_ACK, 0, data): the answer to a ping."""
WINDOW = 9
"""(WINDOW, stream): the peer takes more of the stream; of all streams if that is 0. Ask `queued` after `take_bytes`."""
FAULT = 10
"""(FAULT, 0, code, why): the connection is over, by an error unless `code` is 0. The last event; `take_bytes` has the
GOAWAY. With ENHANCE_YOUR_CALM, `why` is the kind of the flood, a word for metrics, and it is the only event: what came
with the flood is dropped."""

NO_ERROR, PROTOCOL_ERROR, INTERNAL_ERROR, FLOW_CONTROL_ERROR = 0, 1, 2, 3
STREAM_CLOSED, FRAME_SIZE_ERROR, REFUSED_STREAM, CANCEL, COMPRESSION_ERROR = 5, 6, 7, 8, 9
ENHANCE_YOUR_CALM, HTTP_1_1_REQUIRED = 11, 13
"""Error codes (RFC 9113 section 7)."""

LAST_STREAM_MAX = 2**31 - 1

CLIENT, SERVER = False, True
"""The roles of an engine."""


def joined(events: list[Event], at: int) -> tuple[bytes, bool, int]:
    """The bytes of the DATA before `at` and of those that follow it at once, whether they end the body, and where the
    next event is.
    """
    _, number, data, ends = events[at - 1]
    if at == len(events) or events[at][0] != DATA or events[at][1] != number:
        return data, ends, at
    pieces = [data]
    for event in islice(events, at, None):
        if event[0] != DATA or event[1] != number:
            break
        pieces.append(event[2])
        ends = event[3]
    return b"".join(pieces), ends, at + len(pieces) - 1


class EngineLimits(msgspec.Struct, frozen=True):
    """What an engine lets its peer do; sizes are in bytes.

    `streams` is SETTINGS_MAX_CONCURRENT_STREAMS (server). `stream_window` is what the peer may send of one stream
    before it is given back, and `connection_window` of all streams together. `header_list_bytes` is announced (name,
    value and 32 for each field, RFC 9113 6.5.2); the connection is cut beyond twice as much, or beyond twice
    `header_fields`. `continuations` and `header_block_bytes` bound a header block before it is decoded. In
    `flood_seconds` there may be `flood_frames` frames of each type that costs a peer nothing, and `flood_resets`
    streams that it resets before their answer, and as many that its errors end.
    """

    streams: int = 128
    stream_window: int = 65_535
    connection_window: int = 128 * 65_535
    header_list_bytes: int = 65_536
    header_fields: int = 128
    continuations: int = 8
    header_block_bytes: int = 65_536
    flood_frames: int = 100
    flood_resets: int = 100
    flood_seconds: float = 10.0


class Engine:
    """One connection. A base class and not a protocol, because every request passes through it.

    `frames` are those of the peer, and `budgets` count what it does wrong. `open_streams` are those that had their HEAD
    (server) or `request` (client), and no CLOSED yet. `peer_max_streams` is how many of ours the peer takes at once,
    and 1 until its settings came.

    A call for a stream that is closed, or after a FAULT, does nothing. Calls only queue frames: `take_bytes` makes
    them, once for all that a turn has queued. It is due after every `receive` too, be it later in the same turn, unless
    `has_bytes` is False.
    """

    __slots__ = ("budgets", "frames", "open_streams", "peer_max_streams")

    budgets: Budgets
    frames: Frames
    open_streams: int
    peer_max_streams: int

    def receive(self, data: bytes, now: float) -> list[Event]:
        """What `data` of the peer means. `now`, in seconds of any clock, is for the budgets against floods."""
        raise NotImplementedError

    def has_bytes(self) -> bool:
        """False if `take_bytes` would give nothing, and no event would come of it; it may be True in vain."""
        return True

    def take_bytes(self, most: int | None = None) -> bytes:
        """What has to be written now, empty if there is nothing. Streams may close by it: `take_events` says which.

        `most` bounds the bytes that a server takes at once, and those of bodies that a client does, up to a frame more.
        The rest stays with the engine.
        """
        raise NotImplementedError

    def take_events(self) -> list[Event]:
        """What happened in `take_bytes`: CLOSED, and FAULT, of which `receive` cannot always know yet."""
        raise NotImplementedError

    def can_request(self) -> bool:
        """Whether a new stream may be opened (client): no GOAWAY came, and numbers are left."""
        raise NotImplementedError

    def request(self, fields: Fields, ends: bool) -> int:
        """Sends the head of a request (client). Returns the number of its stream, 0 if it cannot be opened."""
        raise NotImplementedError

    def interim(self, stream: int, fields: Fields) -> None:
        """Sends the head of a 1xx response (server)."""
        raise NotImplementedError

    def respond(self, stream: int, fields: Fields, ends: bool) -> None:
        """Sends the head of the final response (server). `ends`: nothing follows."""
        raise NotImplementedError

    def data(self, stream: int, data: bytes, ends: bool) -> None:
        """Sends a piece of the body, as far as windows allow, and keeps the rest. It may be empty if it `ends`."""
        raise NotImplementedError

    def trailers(self, stream: int, fields: Fields) -> None:
        """Ends the message with `fields`, which are not empty, behind what is kept of its body."""
        raise NotImplementedError

    def reset(self, stream: int, code: int) -> None:
        """Sends RST_STREAM and drops what is kept. CLOSED follows."""
        raise NotImplementedError

    def received(self, stream: int, size: int) -> None:
        """Gives back `size` bytes of DATA events, so that the peer may send as many again.

        Call it for each byte once, when it has been passed on or dropped, also if its stream is closed already:
        otherwise the window of the connection shrinks for ever. Raises ValueError for more than came.
        """
        raise NotImplementedError

    def queued(self, stream: int) -> int:
        """The bytes of the body that are kept for want of window. Right after `take_bytes`, 0 says that all left."""
        raise NotImplementedError

    def queued_in_all(self) -> int:
        """The same of all streams together."""
        raise NotImplementedError

    def ping(self, data: bytes) -> None:
        """Sends a PING with eight bytes; PING_ACK has them."""
        raise NotImplementedError

    def shutdown_notice(self) -> None:
        """The first step of a drain (server): GOAWAY with the highest number, so that no request is lost."""
        raise NotImplementedError

    def goaway(self, code: int) -> None:
        """Sends GOAWAY with the last stream that was reported. Streams up to it go on; later ones are not taken."""
        raise NotImplementedError
