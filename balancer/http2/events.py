"""Names what an HTTP/2 engine reports and what it is told: kinds of events, error codes, limits. No I/O, no clock."""

from __future__ import annotations

from itertools import islice
from typing import Any

import msgspec

Event = tuple[Any, ...]
"""What happened: one of the kinds below, the number of the stream, and more as the kind says."""

HEAD = 0
"""(HEAD, stream, fields, ends): the head of a request (server) or of a final response (client)."""
INTERIM = 1
"""(INTERIM, stream, fields): the head of a 1xx response (client)."""
DATA = 2
"""(DATA, stream, data, ends): a piece of a body, which may be empty. Each of its bytes must be given back once.
What came at once may be one piece or several."""
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

NO_ERROR, PROTOCOL_ERROR, INTERNAL_ERROR = 0, 1, 2
FRAME_SIZE_ERROR, REFUSED_STREAM, CANCEL, COMPRESSION_ERROR, ENHANCE_YOUR_CALM = 6, 7, 8, 9, 11
"""The error codes that have a meaning here (RFC 9113 section 7)."""

LAST_STREAM_MAX = 2**31 - 1


def joined(events: list[Event], at: int) -> tuple[bytes, bool, int]:
    """The bytes of the DATA before `at` and of those that follow it at once, whether they end the body, and where the
    next event is.
    """
    first = events[at - 1]
    number, pieces = first[1], [first[2]]
    for event in islice(events, at, None):
        if event[0] != DATA or event[1] != number:
            break
        pieces.append(event[2])
    end = at + len(pieces) - 1
    return b"".join(pieces), events[end - 1][3], end


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
