"""How clients of either version begin a request and leave it: bytes for bare sockets."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import NamedTuple

import pytest

from tests.features.faults.crowds import reset
from tests.features.faults.load import HOST, request_of
from tests.features.http2 import frames
from tests.features.http2.cases import block

_CANCEL = 8
_LONG = 16_000  # bytes of a frame that never ends


class Leaving(NamedTuple):
    """A request, and how its client leaves."""

    request: bytes
    leave: Callable[[socket.socket], None]


def hello_of_http2() -> bytes:
    """How a client begins that has nothing to ask yet."""
    return frames.PREFACE + frames.settings([])


def _asked_by_http2(path: str) -> bytes:
    pseudo = [[":method", "GET"], [":scheme", "http"], [":authority", HOST], [":path", path]]
    return hello_of_http2() + frames.frame(frames.HEADERS, frames.END_HEADERS | frames.END_STREAM, 1, block(pseudo))


def begun_by_http2() -> bytes:
    """A request whose header block has no end yet, and the beginning of a frame that goes on with it."""
    begun = frames.frame(frames.HEADERS, 0, 1, block([[":method", "GET"]]))
    return hello_of_http2() + begun + frames.frame(frames.CONTINUATION, 0, 1, length=_LONG)


def _cancel(connection: socket.socket) -> None:
    connection.send(frames.frame(frames.RST_STREAM, 0, 1, _CANCEL.to_bytes(4, "big")))


_WAYS = {
    "HTTP/1.1": Leaving(request_of("storm", 0), reset),
    "HTTP/2 connection": Leaving(_asked_by_http2("/0/storm"), reset),
    "HTTP/2 stream": Leaving(_asked_by_http2("/0/storm"), _cancel),
}
each_way_to_leave = pytest.mark.parametrize("way", _WAYS.values(), ids=_WAYS)
