"""The engine with hyper-h2, which is pure Python: where ngh2 cannot be installed or is switched off, and to compare.

Adds what hyper-h2 lacks: that library keeps no bodies for want of window, treats GOAWAY as the end, and ends a
connection where nghttp2 resets a stream. It gets one frame at a time, because it forgets what came in the same bytes as
an error.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from h2.events import (
    DataReceived,
    InformationalResponseReceived,
    PingAckReceived,
    RemoteSettingsChanged,
    RequestReceived,
    ResponseReceived,
    StreamReset,
    TrailersReceived,
    WindowUpdated,
)
from h2.exceptions import NoAvailableStreamIDError, ProtocolError, StreamClosedError
from hpack import HPACKError

from balancer.errors import ErrorKind
from balancer.http.messages import Fields
from balancer.http2.budgets import BYTES_A_FRAME, Budgets
from balancer.http2.checking import check_request_head, has_body
from balancer.http2.engine import SERVER, Engine
from balancer.http2.events import (
    CLOSED,
    COMPRESSION_ERROR,
    DATA,
    ENHANCE_YOUR_CALM,
    FAULT,
    GOAWAY,
    HEAD,
    INTERIM,
    INTERNAL_ERROR,
    LAST_STREAM_MAX,
    PING_ACK,
    PROTOCOL_ERROR,
    REFUSED_STREAM,
    RESET,
    SETTINGS,
    TRAILERS,
    WINDOW,
    EngineLimits,
    Event,
)
from balancer.http2.fields import MalformedMessage, check_fields
from balancer.http2.frames import GOAWAY as GOAWAY_KIND
from balancer.http2.frames import PREFACE, PRIORITY, Frames, goaway_frame, read_goaway, stream_of
from balancer.http2.h2_connecting import connected
from balancer.http2.h2_streams import H2Stream, H2Streams
from balancer.http2.splitting import Splitter

_PRIORITY_BYTES, _GOAWAY_BYTES = 14, 17  # with their headers
_STREAMS_MOST = 2**32 - 1


class H2Engine(Engine):
    """One connection of hyper-h2."""

    __slots__ = (
        "_connection",
        "_events",
        "_goaway_last",
        "_is_leaving",
        "_is_left",
        "_is_server",
        "_last",
        "_over",
        "_said",
        "_splitter",
        "_streams",
    )

    def __init__(self, role: bool, limits: EngineLimits) -> None:
        self._is_server = role is SERVER
        self._connection = connected(self._is_server, limits)
        self.budgets = Budgets(limits, is_server=self._is_server)
        self.frames = Frames(PREFACE if self._is_server else b"")
        self._splitter = Splitter(has_preface=self._is_server)
        self._streams = H2Streams()
        self._events: list[Event] = []
        self._said = b""
        self._last = 0
        self._goaway_last = LAST_STREAM_MAX
        self._is_leaving = False
        self._is_left = False
        self._over = False
        self.peer_max_streams = 1

    def receive(self, data: bytes, now: float) -> list[Event]:
        if self._over:
            return []
        if why := self.budgets.overdrawn(self.frames, data, now):
            return self._flooded(why)
        try:
            for frame in self._splitter.split(data):
                self._take(frame)
        except ProtocolError as error:
            unreadable = isinstance(error.__cause__, HPACKError | IndexError)  # hyper-h2 has no code for these
            self._break_off(COMPRESSION_ERROR if unreadable else int(error.error_code), str(error))
        if self._splitter.fault and not self._over:
            self._break_off(self._splitter.fault, self._splitter.why)
        if self.budgets.is_spent and not self._over and (why := self.budgets.breach_of_streams(self.frames)):
            return self._flooded(why)
        return self.take_events()

    def take_bytes(self, most: int | None = None) -> bytes:
        if not self._over:
            try:
                for stream in self._streams.send(self, None if self._is_server else most):
                    self._close(stream, 0)
            except ProtocolError as error:
                self._break_off(INTERNAL_ERROR, str(error))
                return self.take_bytes()
            bound = most if self._is_server else None
            data = self._connection.data_to_send(bound)
            self._said += data
            if (self._is_left or self._is_leaving) and not self._streams and len(data) != bound:
                self._over = True  # both sides are done
                self._events.append((FAULT, 0, 0, ""))
        said = self._said
        self._said = b""
        return said

    def take_events(self) -> list[Event]:
        events = self._events
        self._events = []
        return events

    def can_request(self) -> bool:
        return not self._over and not self._is_left

    def request(self, fields: Fields, ends: bool) -> int:
        if self._over or self._is_left:
            return 0
        try:
            number = self._connection.get_next_available_stream_id()
            self._connection.send_headers(number, fields, end_stream=ends)
        except (ProtocolError, NoAvailableStreamIDError):
            return 0
        self._streams.begin(number, H2Stream(is_done=ends, bodiless=(b":method", b"HEAD") in fields))
        self.budgets.opened += 1
        return number

    def interim(self, stream: int, fields: Fields) -> None:
        with suppress(ProtocolError):
            if stream in self._streams and not self._over:
                self._connection.send_headers(stream, fields)

    def respond(self, stream: int, fields: Fields, ends: bool) -> None:
        known = self._streams.get(stream)
        if known is None or self._over:
            return
        known.answered = True
        with suppress(ProtocolError):
            self._connection.send_headers(stream, fields, end_stream=ends)
        if ends and self._streams.is_over_when_sent(stream):
            self._close(stream, 0)

    def data(self, stream: int, data: bytes, ends: bool) -> None:
        known = self._streams.sendable(stream)
        if known is not None:
            self.budgets.ours += 1 + len(data) // BYTES_A_FRAME
            known.body.add(data, ends)
            self._streams.wait(stream)

    def trailers(self, stream: int, fields: Fields) -> None:
        known = self._streams.sendable(stream)
        if known is not None:
            known.body.trailers = fields
            known.body.ends = True
            self._streams.wait(stream)

    def reset(self, stream: int, code: int) -> None:
        known = self._streams.get(stream)
        if known is None or self._over:
            return
        if code == PROTOCOL_ERROR:
            self.budgets.count_error(code)
        self._cut(stream, code)
        self._close(stream, code)

    def withdraw(self, stream: int) -> bool:
        return False  # the library has written the head, or refused to

    def received(self, stream: int, size: int) -> None:
        if size and not self._over:
            self._connection.acknowledge_received_data(size, stream)

    def queued(self, stream: int) -> int:
        return self._streams.queued(stream)

    def queued_in_all(self) -> int:
        return self._streams.queued_in_all()

    def ping(self, data: bytes) -> None:
        if not self._over:
            self._connection.ping(data)

    def shutdown_notice(self) -> None:
        self._say_goodbye(LAST_STREAM_MAX, 0)

    def goaway(self, code: int) -> None:
        self._goaway_last = self._last
        self._is_leaving = True
        self._say_goodbye(self._last, code)

    def _cut(self, stream: int, code: int) -> None:
        """Resets a stream, unless the frame that is wrong has ended it on both sides."""
        with suppress(StreamClosedError):
            self._connection.reset_stream(stream, code)

    def _say_goodbye(self, last: int, code: int) -> None:
        """Sends a GOAWAY that hyper-h2 does not know of: after one of its own it would take no frame of a stream."""
        if not self._over:
            self._said += self._connection.data_to_send() + goaway_frame(last, code)

    def _take(self, frame: bytes) -> None:
        """Take the preface or one frame. Raises `ProtocolError` for what ends the connection."""
        splitter = self._splitter
        if not splitter.is_amid_block:
            stream = stream_of(frame)
            if splitter.kind == PRIORITY and len(frame) == _PRIORITY_BYTES and stream:
                return  # ignored (RFC 9113 5.3.2)
            if splitter.kind == GOAWAY_KIND and len(frame) >= _GOAWAY_BYTES and not stream:
                self._hear_goodbye(frame)
                return
        for event in self._connection.receive_data(frame):
            self._translate(event)

    def _hear_goodbye(self, frame: bytes) -> None:
        last, code = read_goaway(frame)
        self._is_left = True
        self._events.append((GOAWAY, last, code))
        if not self._is_server:
            for stream in self._streams.above(last):
                self._cut(stream, REFUSED_STREAM)
                self._close(stream, REFUSED_STREAM)

    def _translate(self, event: Any) -> None:
        match event:
            case RequestReceived() | ResponseReceived() | InformationalResponseReceived() | TrailersReceived():
                self._hear_head(event)
            case DataReceived():
                self._hear_data(event)
            case StreamReset(stream_id=stream, error_code=code):
                self._hear_reset(stream, int(code), event.remote_reset)
            case WindowUpdated(stream_id=stream):
                self._events.append((WINDOW, stream))
            case RemoteSettingsChanged():
                self.peer_max_streams = min(self._connection.remote_settings.max_concurrent_streams, _STREAMS_MOST)
                self._events.append((SETTINGS, 0))
            case PingAckReceived(ping_data=data):
                self._events.append((PING_ACK, 0, data))

    def _hear_head(self, event: Any) -> None:
        self.budgets.heard += 1
        number, fields = event.stream_id, tuple(event.headers)
        ends = getattr(event, "stream_ended", None) is not None  # an interim head has none
        if isinstance(event, RequestReceived):
            if number > self._goaway_last:
                self._cut(number, REFUSED_STREAM)
                return
        elif number not in self._streams:
            return
        try:
            self._check(event, number, fields, ends)
        except MalformedMessage:
            self.budgets.count_error(PROTOCOL_ERROR)
            self._cut(number, PROTOCOL_ERROR)
            self._close(number, PROTOCOL_ERROR)
            return
        if isinstance(event, InformationalResponseReceived):
            self._events.append((INTERIM, number, fields))
            return
        if isinstance(event, RequestReceived):
            self._last = number
            self._streams.begin(number, H2Stream(is_heard=ends))
        if isinstance(event, TrailersReceived):
            self._events.append((TRAILERS, number, fields))
            self._hear_end(number)
            return
        self._events.append((HEAD, number, fields, ends))
        if ends and not self._is_server:
            self._hear_end(number)

    def _check(self, event: Any, number: int, fields: Fields, ends: bool) -> None:
        """Raises `MalformedMessage` where nghttp2 would reset the stream."""
        if isinstance(event, RequestReceived):
            check_request_head(fields, ends)
        elif isinstance(event, TrailersReceived):
            check_fields(fields, ErrorKind.BAD_REQUEST)
        else:
            stream = self._streams[number]
            stream.bodiless = not has_body(fields, b"HEAD" if stream.bodiless else b"GET", ends)

    def room(self, stream: int) -> int:
        """For `BodySink`, as the next two."""
        return self._connection.local_flow_control_window(stream)

    def send_piece(self, stream: int, data: bytes, ends: bool) -> None:
        self._connection.send_data(stream, data, end_stream=ends)

    def send_end(self, stream: int, trailers: Fields) -> None:
        self._connection.send_headers(stream, trailers, end_stream=True)

    def _hear_data(self, event: Any) -> None:
        number, data, ends = event.stream_id, event.data, event.stream_ended is not None
        padding = event.flow_controlled_length - len(data)
        if padding:
            self._connection.acknowledge_received_data(padding, number)
        stream = self._streams.get(number)
        if stream is None or (stream.bodiless and data):
            self.received(number, len(data))
            if stream is not None:
                self.reset(number, PROTOCOL_ERROR)
            return
        if not data and not ends:
            self.budgets.count_empty()
        self._events.append((DATA, number, data, ends))
        if ends:
            self._hear_end(number)

    def _hear_reset(self, stream: int, code: int, is_remote: bool) -> None:
        known = self._streams.get(stream)
        if known is None:
            return
        if is_remote:
            if self._is_server and not known.answered:
                self.budgets.count_reset()
            self._events.append((RESET, stream, code))
        else:
            self.budgets.count_error(code)
        self._close(stream, code)

    def _hear_end(self, stream: int) -> None:
        if self._streams.is_over_when_heard(stream):
            self._close(stream, 0)

    def _close(self, stream: int, code: int) -> None:
        if self._streams.close(stream):
            self._events.append((CLOSED, stream, code))

    def _flooded(self, why: str) -> list[Event]:
        self._events.clear()
        self._break_off(ENHANCE_YOUR_CALM, why)
        return self.take_events()

    def _break_off(self, code: int, why: str) -> None:
        self._over = True
        self._said += goaway_frame(self._last, code)
        self._events.append((FAULT, 0, code, why))
