"""Receives the whole body of a request before an endpoint is picked (`proxy-request-buffering: "on"`).

So a slow client does not hold an endpoint, and a request with a long body can be tried on another endpoint. The body
stays in memory up to a bound, and beyond it in a file without a name. Like nginx, a worker writes the file itself: the
pieces are small and the system buffers them. `body_room` says how much all bodies of a worker may take.
"""

from __future__ import annotations

import errno
import logging
import os
import time
from collections.abc import Iterator
from typing import IO, Protocol

import msgspec

from balancer.errors import ErrorKind, Refusal
from balancer.http.messages import RequestHead, ResponseHead, Trailers
from balancer.http.streams import RequestStream
from balancer.matching.destinations import Destination
from balancer.model.policies import RoutePolicy
from balancer.proxy.bodies import UNCOUNTED_BYTES, KeptBody
from balancer.proxy.body_room import BodyRoom, Held
from balancer.runtime.deadlines import Alarm

_LOG = logging.getLogger(__name__)
_PIECE_BYTES = 64 * 1024
_CONTINUE = ResponseHead(100, (), 0, b"")


class SpooledBody(KeptBody):
    """A whole body, in memory or in a file. Memory and file end with the last reference to the body."""

    __slots__ = ("_file", "_memory_bytes", "_on_disk", "_open", "size")

    def __init__(self, memory_bytes: int, room: BodyRoom, tenant: str) -> None:
        """Up to `memory_bytes` stay in memory, fewer if the share of `tenant` in `room` is used up."""
        super().__init__(room, tenant)
        self._data = bytearray()
        self._memory_bytes = memory_bytes
        self._file: IO[bytes] | None = None
        self._on_disk = Held(room.files, tenant)
        self._open = Held(room.open, tenant)
        self.size = 0

    def __del__(self) -> None:
        self.drop()

    def keep(self, data: bytes) -> bool:
        """Keeps the next piece. False: there is no room left for it. Raises OSError if the file cannot be written."""
        size = self.size + len(data)
        is_short = self._file is None and size <= self._memory_bytes
        if is_short and (size <= UNCOUNTED_BYTES or self._may_hold(size)):
            self._data += data
        elif not self._write(data):
            return False
        self.size = size
        return True

    def _write(self, data: bytes) -> bool:
        piece = bytes(self._data) + data
        if not self._on_disk.take(len(piece)):
            return False
        if self._file is None:
            if not self._open.take(1):
                return False
            self._file = _temporary_file()
        self._data = bytearray()
        self._memory = None
        if self._file.write(piece) != len(piece):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))  # a full disk takes the part that fits
        return True

    def pieces(self) -> Iterator[bytes]:
        """The body from its beginning, in pieces of at most 64 KiB. One iteration at a time."""
        if self._file is None:
            yield from (bytes(self._data[at : at + _PIECE_BYTES]) for at in range(0, len(self._data), _PIECE_BYTES))
            return
        self._file.seek(0)
        while piece := self._file.read(_PIECE_BYTES):
            yield piece

    def drop(self) -> None:
        """Drops the body, because the request will not be repeated."""
        self.is_whole = False
        self._data = bytearray()
        self._memory = None
        if self._file is not None:
            self._file.close()
            self._file = None
        self._on_disk.end()
        self._open.end()


def is_received_first(request: RequestHead, policy: RoutePolicy) -> bool:
    """Whether the body of `request` is received before an endpoint is picked.

    HTTP/1.0 knows neither chunks (RFC 9112 7.1) nor 100 (RFC 9110 10.1.1), so its head must say the length.
    """
    return policy.spools_bodies or (policy.http_1_0 and (request.body_bytes is None or request.expects_continue))


def with_body(request: RequestHead, body: SpooledBody, policy: RoutePolicy) -> RequestHead:
    """The head of a request whose `body` was received. Trailers need chunks, and HTTP/1.0 has neither."""
    if policy.http_1_0:
        body.end(())
    length = None if body.trailers else body.size
    return msgspec.structs.replace(request, body_bytes=length, expects_continue=False)


class SpoolingRequest(Protocol):
    """Owns a request whose body is received first."""

    stream: RequestStream
    alarm: Alarm

    def body_received(self, body: SpooledBody) -> None:
        """The whole body is here."""

    def body_refused(self, kind: ErrorKind) -> None:
        """The body cannot be received, or its client left (`CLIENT_LEFT`)."""


class Spooling:
    """Receives one body. Consumes the events of the client's stream meanwhile."""

    __slots__ = ("_body", "_bytes_most", "_owner", "_room", "_seconds")

    def __init__(self, owner: SpoolingRequest, to: Destination, room: BodyRoom, timeout_seconds: float) -> None:
        """`timeout_seconds` bounds the time between two pieces. The body counts for the tenant of `to`."""
        policy = to.policy
        self._owner = owner
        self._room = room
        self._body = SpooledBody(policy.spool_memory_bytes, room, to.tenant)
        self._bytes_most = policy.max_body_bytes
        self._seconds = timeout_seconds

    def begin(self, *, expects_continue: bool) -> None:
        """Asks the client for the body. `expects_continue`: it waits for 100 before it sends any."""
        stream, alarm = self._owner.stream, self._owner.alarm
        alarm.owner = self
        alarm.set(self._seconds)
        stream.attach(self)
        if expects_continue:
            stream.interim(_CONTINUE)
        stream.start_body()

    def request_data(self, data: bytes) -> None:
        if self._keeps(data):
            self._owner.alarm.set(self._seconds)

    def request_rest(self, data: bytes, trailers: Trailers) -> None:
        if self._keeps(data):
            self.request_end(trailers)

    def _keeps(self, data: bytes) -> bool:
        """Keeps a piece of the body, or refuses the request."""
        if 0 < self._bytes_most < self._body.size + len(data):
            self._refuse(ErrorKind.BODY_TOO_LARGE)
            return False
        try:
            has_room = self._body.keep(data)
        except OSError as error:
            self._warn(error)
            has_room = False
        if not has_room:
            self._refuse(ErrorKind.OVERLOADED)
        return has_room

    def _warn(self, error: OSError) -> None:
        count = self._room.warns(time.monotonic())
        if count is not None:
            _LOG.warning(
                "A request body could not be written to a temporary file: %s. Bodies since the last warning: %d.",
                error.strerror,
                count,
            )

    def request_end(self, trailers: Trailers) -> None:
        self._body.end(trailers)
        self._leave()
        self._owner.body_received(self._body)

    def request_failed(self, refusal: Refusal) -> None:
        self._refuse(refusal.kind)

    def client_lost(self, kind: ErrorKind) -> None:
        self._refuse(kind)

    def expired(self) -> None:
        self._refuse(ErrorKind.REQUEST_TIMEOUT)

    def client_paused(self) -> None:
        """Nothing but a 100 is written meanwhile."""

    def client_resumed(self) -> None:
        """Nothing but a 100 is written meanwhile."""

    def _refuse(self, kind: ErrorKind) -> None:
        self._leave()
        self._body.drop()
        self._owner.body_refused(kind)

    def _leave(self) -> None:
        self._owner.alarm.clear()
        self._owner.stream.detach()


def _temporary_file() -> IO[bytes]:
    import tempfile

    return tempfile.TemporaryFile(buffering=0)  # it lives as long as the request
