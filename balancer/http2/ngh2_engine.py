"""The engine with ngh2, which is nghttp2 in a Cython binding.

nghttp2 checks messages itself (RFC 9113 8.1.1) and resets streams whose fields or lengths are malformed, before anyone
hears of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ngh2
from ngh2 import Connection, NGH2Error, Priority, Role, Setting

from balancer.http.messages import Fields
from balancer.http2.budgets import BYTES_A_FRAME, Budgets
from balancer.http2.engine import CLIENT, SERVER, Engine
from balancer.http2.events import (
    CANCEL,
    CLOSED,
    DATA,
    ENHANCE_YOUR_CALM,
    FAULT,
    GOAWAY,
    HEAD,
    INTERIM,
    INTERNAL_ERROR,
    PING_ACK,
    PROTOCOL_ERROR,
    RESET,
    SETTINGS,
    TRAILERS,
    WINDOW,
    EngineLimits,
    Event,
)
from balancer.http2.frames import PREFACE, Frames, goaway_frame
from balancer.http2.ngh2_settings import WINDOW_BYTES, configuration, marked, marked_if_any, settings_of
from balancer.http2.uploads import Uploads

_TURNS = Priority(3, True)  # streams share the window of a connection in turns, and not one after the other
# The states of a stream.
_OPEN, _ANSWERED, _BEGUN, _SHARING, _RESET = range(5)
_A_TURN = 16_384  # bytes; the first so many of a body need no second turn
_STREAMS_MOST = 2**32 - 1
_NO_UPLOADS = Uploads(0)  # nghttp2 keeps the bodies of a server
_ROLES = {SERVER: Role.SERVER, CLIENT: Role.CLIENT}
# Not looked up in the module for every event.
_Closed, _Data, _Request, _Response = ngh2.StreamClosed, ngh2.DataReceived, ngh2.RequestReceived, ngh2.ResponseReceived
_Trailers = ngh2.TrailersReceived


class Ngh2Engine(Engine):
    """One connection of nghttp2."""

    __slots__ = (
        "_events",
        "_is_known",
        "_is_left",
        "_is_server",
        "_last",
        "_over",
        "_said",
        "_session",
        "_streams",
        "_uploads",
    )

    def __init__(self, role: bool, limits: EngineLimits) -> None:
        session = Connection(_ROLES[role], configuration(limits))
        self._session = session
        session.initiate_connection(settings_of(role, limits))
        if limits.connection_window > WINDOW_BYTES:
            session.set_local_window_size(limits.connection_window)
        self.frames = Frames(PREFACE if role is SERVER else b"")
        self.budgets = Budgets(limits, is_server=role is SERVER)
        self._uploads = _NO_UPLOADS if role is SERVER else Uploads(WINDOW_BYTES)
        self._is_server = role is SERVER
        self._streams: dict[int, int] = {}  # the state of those that were reported
        self._events: list[Event] = []
        self._said = b""
        self._last = 0
        self._is_known = False
        self._is_left = False
        self._over = False
        self.peer_max_streams = 1

    def receive(self, data: bytes, now: float) -> list[Event]:
        if self._over:
            return []
        budgets = self.budgets
        why = budgets.overdrawn(self.frames, data, now)
        if why:
            return self._flooded(why)
        session = self._session
        try:
            session.receive_data(data)
        except NGH2Error as error:
            self._translate(session.events())
            self._break_off(PROTOCOL_ERROR, str(error))
            return self.take_events()
        raw = session.events()
        if raw:
            self._translate(raw)
        if budgets.is_spent:
            why = budgets.breach_of_streams(self.frames)
            if why:
                return self._flooded(why)
        return self.take_events()

    def has_bytes(self) -> bool:
        if self._over:
            return bool(self._said)
        session = self._session
        if session.want_write or not session.want_read:  # the end is an event
            return True
        uploads = self._uploads
        return uploads.may_send()

    def take_bytes(self, most: int | None = None) -> bytes:
        if self._over:
            said = self._said
            self._said = b""
            return said
        session = self._session
        try:
            said = session.data_to_send(most if self._is_server else None)
            if not self._is_server:
                uploads = self._uploads
                uploads.begin_turn(most == 0, self._window())
                if uploads.may_send():  # behind the heads of their streams, without which these have no window
                    uploads.send(self, most)
                    said += session.data_to_send()
                    uploads.room = self._window()
        except NGH2Error as error:
            self._break_off(INTERNAL_ERROR, str(error))
            return self.take_bytes()
        raw = session.events()
        if raw:
            self._translate(raw)
        if len(said) == most and self._is_server:
            said += self._rest()
        if self._said:
            said = self._said + said
            self._said = b""
        return said

    def _rest(self) -> bytes:
        """What is left of a connection that is over: no later call asks the library."""
        return self._session.data_to_send() if self._over else b""

    def take_events(self) -> list[Event]:
        events = self._events
        if events:
            self._events = []
        return events

    def can_request(self) -> bool:
        return not self._over and self._session.can_send_request

    def request(self, fields: Fields, ends: bool) -> int:
        try:
            stream = self._session.send_request(marked(fields), end_stream=ends)
        except NGH2Error:
            return 0
        self._streams[stream] = _OPEN
        self.budgets.opened += 1
        return stream

    def interim(self, stream: int, fields: Fields) -> None:
        if stream in self._streams:
            self._quietly(self._session.send_informational_response, stream, fields)

    def respond(self, stream: int, fields: Fields, ends: bool) -> None:
        if stream not in self._streams:
            return
        self._streams[stream] = _ANSWERED
        try:
            self._session.send_response(stream, marked_if_any(fields), end_stream=ends)
        except NGH2Error:
            return

    def data(self, stream: int, data: bytes, ends: bool) -> None:
        state = self._streams.get(stream)
        if state is None:
            return
        self.budgets.ours += 1 + len(data) // BYTES_A_FRAME
        if not self._is_server:
            self._upload(stream, state, data, ends)
            return
        try:
            if state <= _BEGUN and data:
                if state == _BEGUN or len(data) > _A_TURN:
                    self._session.set_stream_priority(stream, _TURNS, ignore_client_signal=True)
                    self._streams[stream] = _SHARING
                elif not ends:
                    self._streams[stream] = _BEGUN
            self._session.send_data(stream, data, end_stream=ends)
        except NGH2Error:
            return

    def _upload(self, stream: int, state: int, data: bytes, ends: bool) -> None:
        """Sends a piece of a body as a client: at once if it is the first and both windows have room for it.

        nghttp2 would send all that it keeps of one stream before it turns to the next.
        """
        uploads = self._uploads
        self._streams[stream] = _SHARING  # no later piece may overtake this one
        if not uploads.goes_at_once(stream, len(data), state == _OPEN):
            uploads.keep(stream, data, ends)
            return
        try:
            self._session.send_data(stream, data, end_stream=ends)
        except NGH2Error:
            return

    def _window(self) -> int:
        """The window of the connection, 0 if it has ended."""
        try:
            return self._session.remote_window_size
        except NGH2Error:
            return 0

    def room(self, stream: int) -> int:
        """For `Uploads`, as the next two: what nghttp2 would frame at once."""
        try:
            window = self._session.stream_remote_window_size(stream)
        except NGH2Error:
            return 0
        uploads = self._uploads
        return min(uploads.room, window - self._session.queued_body_size(stream))

    def send_piece(self, stream: int, data: bytes, ends: bool) -> None:
        uploads = self._uploads
        uploads.room -= len(data)
        self._quietly(self._session.send_data, stream, data, end_stream=ends)

    def send_end(self, stream: int, trailers: Fields) -> None:
        self._quietly(self._session.send_trailers, stream, trailers)

    def trailers(self, stream: int, fields: Fields) -> None:
        uploads = self._uploads
        if not uploads.end(stream, fields) and stream in self._streams:
            self._quietly(self._session.send_trailers, stream, fields)

    def reset(self, stream: int, code: int) -> None:
        if stream in self._streams:
            if code != PROTOCOL_ERROR:  # that is the answer to an error of the peer, and counts as such
                self._streams[stream] = _RESET
            self._quietly(self._session.reset_stream, stream, code)

    def withdraw(self, stream: int) -> bool:
        if self._over or stream not in self._streams:
            return False
        try:
            self._session.stream_remote_window_size(stream)
        except NGH2Error:  # the library knows no stream before its head is written
            uploads = self._uploads
            self._quietly(self._session.reset_stream, stream, CANCEL)
            del self._streams[stream]
            uploads.forget(stream)
            return True
        return False

    def received(self, stream: int, size: int) -> None:
        if size and not self._over:
            try:
                self._session.acknowledge_received_data(size, stream)
            except NGH2Error:
                return

    def queued(self, stream: int) -> int:
        kept = self._session.queued_body_size(stream) if stream in self._streams else 0
        uploads = self._uploads
        return kept if self._is_server else kept + uploads.queued(stream)

    def queued_in_all(self) -> int:
        kept = self._session.queued_body_size()
        uploads = self._uploads
        return kept if self._is_server else kept + uploads.queued_in_all()

    def ping(self, data: bytes) -> None:
        self._quietly(self._session.ping, data)

    def shutdown_notice(self) -> None:
        self._quietly(self._session.send_shutdown_notice)

    def goaway(self, code: int) -> None:
        self._quietly(self._session.send_goaway, code)

    def _quietly(self, call: Callable[..., object], *arguments: object, **options: object) -> None:
        """Carries out `call`. Nothing happens if the connection or the stream is over."""
        try:
            call(*arguments, **options)
        except NGH2Error:
            return

    def _translate(self, raw: list[Any]) -> None:
        """Makes tuples of the objects that the library reports. Their types are not seen by mypy."""
        events, streams = self._events, self._streams
        for event in raw:
            kind = type(event)
            if kind is _Closed:
                self._close(event.stream_id, event.error_code)
            elif kind is _Request:
                stream = event.stream_id
                self._last = stream
                streams[stream] = _OPEN
                self.budgets.heard += 1
                events.append((HEAD, stream, event.headers, event.end_stream))
            elif kind is _Data:
                data, ends = event.data, event.end_stream
                if not data and not ends:
                    self.budgets.count_empty()
                events.append((DATA, event.stream_id, data, ends))
            elif kind is _Response:
                events.append((HEAD, event.stream_id, event.headers, event.end_stream))
            elif kind is _Trailers:
                self.budgets.heard += 1
                events.append((TRAILERS, event.stream_id, event.headers))
            else:
                self._translate_rare(event)

    def _close(self, stream: int, code: int) -> None:
        """A stream is gone. One that nobody had heard of was malformed from its head on."""
        streams = self._streams
        state = streams.pop(stream, None)
        if not streams:
            streams.clear()  # gives its table back
        if not self._is_server:
            uploads = self._uploads
            uploads.forget(stream)
        if code and state != _RESET:
            self.budgets.count_error(code)
        if state is not None:
            self._events.append((CLOSED, stream, code))

    def _note_reset(self, stream: int, code: int) -> None:
        if (state := self._streams.get(stream)) is not None:
            if state == _OPEN and self._is_server:
                self.budgets.count_reset()
            self._streams[stream] = _RESET
            self._events.append((RESET, stream, code))

    def _translate_rare(self, event: ngh2.Event) -> None:
        events = self._events
        match event:
            case ngh2.WindowUpdated(stream_id=stream):
                events.append((WINDOW, stream))
            case ngh2.InformationalResponseReceived(stream_id=stream, headers=fields):
                events.append((INTERIM, stream, fields))
            case ngh2.StreamReset(stream_id=stream, error_code=code):
                self._note_reset(stream, code)
            case ngh2.SettingsReceived(settings=settings):
                before = self.peer_max_streams if self._is_known else _STREAMS_MOST  # unless the peer says otherwise
                self.peer_max_streams = settings.get(Setting.MAX_CONCURRENT_STREAMS, before)
                self._is_known = True
                if not self._is_server:
                    uploads = self._uploads
                    uploads.first_room = settings.get(Setting.INITIAL_WINDOW_SIZE, uploads.first_room)
                events.append((SETTINGS, 0))
            case ngh2.PingAcknowledged(opaque_data=data):
                events.append((PING_ACK, 0, data))
            case ngh2.GoAwayReceived(last_stream_id=last, error_code=code):
                self._is_left = True
                events.append((GOAWAY, last, code))
            case ngh2.ConnectionClosed(error_code=code, debug_data=why):
                self._over = True
                events.append((FAULT, 0, 0, "") if self._is_left else (FAULT, 0, code, why.decode("latin-1")))

    def _flooded(self, why: str) -> list[Event]:
        self._events.clear()
        self._break_off(ENHANCE_YOUR_CALM, why)
        return self.take_events()

    def _break_off(self, code: int, why: str) -> None:
        """Ends a connection that the library cannot go on with. A GOAWAY needs no state, so it is written here."""
        self._over = True
        self._said += goaway_frame(self._last, code)
        self._events.append((FAULT, 0, code, why))
