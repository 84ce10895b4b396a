"""The engine with ngh2, which is nghttp2 in a Cython binding. The only importer of ngh2.

nghttp2 checks messages itself (RFC 9113 8.1.1) and resets streams whose fields or lengths are malformed, before anyone
hears of them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import ngh2
from ngh2 import Configuration, Connection, NGH2Error, Priority, Role, Setting

from balancer.http.messages import Fields
from balancer.http2.bodies import OutgoingBodies, OutgoingBody
from balancer.http2.budgets import BYTES_A_FRAME, Budgets
from balancer.http2.engine import CLIENT, SERVER, Engine
from balancer.http2.events import (
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

_TURNS = Priority(3, True)  # streams share the window of a connection in turns, and not one after the other
# The states of a stream.
_OPEN, _ANSWERED, _BEGUN, _SHARING, _RESET = range(5)
_A_TURN = 16_384  # bytes; the first so many of a body need no second turn
_STREAMS_MOST = 2**32 - 1
_MANY = (2**32, 2**32)  # floods are counted in front of every engine in the same way
_WINDOW_BYTES = 65_535  # of a connection, and of a stream, unless somebody says otherwise (RFC 9113 6.9.2)
_NO_BODIES, _NO_UPLOADS = OutgoingBodies(), dict[int, OutgoingBody]()  # nghttp2 keeps those of a server
_ROLES = {SERVER: Role.SERVER, CLIENT: Role.CLIENT}
# Not looked up in the module for every event.
_Closed, _Data, _Request, _Response = ngh2.StreamClosed, ngh2.DataReceived, ngh2.RequestReceived, ngh2.ResponseReceived
_Trailers = ngh2.TrailersReceived


class Ngh2Engine(Engine):
    """One connection of nghttp2."""

    __slots__ = (
        "_bodies",
        "_events",
        "_first_room",
        "_is_held",
        "_is_known",
        "_is_left",
        "_is_server",
        "_last",
        "_over",
        "_room",
        "_said",
        "_session",
        "_streams",
        "_uploads",
    )

    def __init__(self, role: bool, limits: EngineLimits) -> None:
        self._session = session = Connection(_ROLES[role], _configuration(limits))
        session.initiate_connection(_settings(role, limits))
        if limits.connection_window > _WINDOW_BYTES:
            session.set_local_window_size(limits.connection_window)
        self.frames = Frames(PREFACE if role is SERVER else b"")
        self.budgets = Budgets(limits, is_server=role is SERVER)
        self._bodies = _NO_BODIES if role is SERVER else OutgoingBodies()
        self._uploads = _NO_UPLOADS if role is SERVER else dict[int, OutgoingBody]()
        self._room = self._first_room = _WINDOW_BYTES  # of the connection, and of a new stream
        self._is_server = role is SERVER
        self._streams: dict[int, int] = {}  # the state of those that were reported
        self._events: list[Event] = []
        self._said = b""
        self._last = 0
        self._is_held = self._is_known = self._is_left = self._over = False  # `_is_held`: no bodies are taken now
        self.open_streams, self.peer_max_streams = 0, 1

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
        return not self._is_server and bool(self._bodies)

    def take_bytes(self, most: int | None = None) -> bytes:
        if self._over:
            said, self._said = self._said, b""
            return said
        session = self._session
        try:
            said = session.data_to_send(most if self._is_server else None)
            if not self._is_server:
                self._is_held, self._room = most == 0, self._window()
                if self._bodies:  # behind the heads of their streams, without which these have no window
                    self._bodies.send(self, most)
                    said += session.data_to_send()
                    self._room = self._window()
        except NGH2Error as error:
            self._break_off(INTERNAL_ERROR, str(error))
            return self.take_bytes()
        raw = session.events()
        if raw:
            self._translate(raw)
        if len(said) == most and self._is_server:
            said += self._rest()
        if self._said:
            said, self._said = self._said + said, b""
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
            stream = self._session.send_request(fields, end_stream=ends)
        except NGH2Error:
            return 0
        self._streams[stream] = _OPEN
        self.budgets.opened += 1
        self.open_streams += 1
        return stream

    def interim(self, stream: int, fields: Fields) -> None:
        if stream in self._streams:
            self._quietly(self._session.send_informational_response, stream, fields)

    def respond(self, stream: int, fields: Fields, ends: bool) -> None:
        if stream not in self._streams:
            return
        self._streams[stream] = _ANSWERED
        try:
            self._session.send_response(stream, fields, end_stream=ends)
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
        is_first = state == _OPEN and len(data) <= self._room and len(data) <= self._first_room and not self._is_held
        if is_first or not (data or stream in self._uploads):  # an end needs no window
            self._room -= len(data)
            self._streams[stream] = _SHARING
            try:
                self._session.send_data(stream, data, end_stream=ends)
            except NGH2Error:
                return
            return
        self._streams[stream] = _SHARING  # no later piece may overtake this one
        body = self._uploads.setdefault(stream, OutgoingBody())
        body.add(data, ends)
        self._bodies.wait(stream, body)

    def _window(self) -> int:
        """That of the connection, 0 if it has ended."""
        try:
            return self._session.remote_window_size
        except NGH2Error:
            return 0

    def room(self, stream: int) -> int:
        """For `OutgoingBodies`, as the next two: what nghttp2 would frame at once."""
        try:
            window = self._session.stream_remote_window_size(stream)
        except NGH2Error:
            return 0
        return min(self._room, window - self._session.queued_body_size(stream))

    def send_piece(self, stream: int, data: bytes, ends: bool) -> None:
        self._room -= len(data)
        self._quietly(self._session.send_data, stream, data, end_stream=ends)

    def send_end(self, stream: int, trailers: Fields) -> None:
        self._quietly(self._session.send_trailers, stream, trailers)

    def trailers(self, stream: int, fields: Fields) -> None:
        body = self._uploads.get(stream)
        if body is not None:
            body.trailers, body.ends = fields, True
            self._bodies.wait(stream, body)
        elif stream in self._streams:
            self._quietly(self._session.send_trailers, stream, fields)

    def reset(self, stream: int, code: int) -> None:
        if stream in self._streams:
            if code != PROTOCOL_ERROR:  # that is the answer to an error of the peer, and counts as such
                self._streams[stream] = _RESET
            self._quietly(self._session.reset_stream, stream, code)

    def received(self, stream: int, size: int) -> None:
        if size and not self._over:
            try:
                self._session.acknowledge_received_data(size, stream)
            except NGH2Error:
                return

    def queued(self, stream: int) -> int:
        kept = self._session.queued_body_size(stream) if stream in self._streams else 0
        body = self._uploads.get(stream)
        return kept if body is None else kept + body.size

    def queued_in_all(self) -> int:
        kept = self._session.queued_body_size()
        return kept + sum([body.size for body in self._uploads.values()]) if self._uploads else kept

    def ping(self, data: bytes) -> None:
        self._quietly(self._session.ping, data)

    def shutdown_notice(self) -> None:
        self._quietly(self._session.send_shutdown_notice)

    def goaway(self, code: int) -> None:
        self._quietly(self._session.send_goaway, code)

    def _quietly(self, call: Callable[..., object], *arguments: object, **options: object) -> None:
        """Carry out `call`, unless the connection or the stream is past it."""
        try:
            call(*arguments, **options)
        except NGH2Error:
            return

    def _translate(self, raw: list[Any]) -> None:
        """Make tuples of what the library reports, in types that mypy does not see."""
        events, streams = self._events, self._streams
        for event in raw:
            kind = type(event)
            if kind is _Closed:
                self._close(event.stream_id, event.error_code)
            elif kind is _Request:
                self._last = stream = event.stream_id
                streams[stream] = _OPEN
                self.open_streams += 1
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
        if self._uploads:
            self._uploads.pop(stream, None)
            self._bodies.forget(stream)
        if code and state != _RESET:
            self.budgets.count_error(code)
        if state is not None:
            self.open_streams -= 1
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
                self.peer_max_streams, self._is_known = settings.get(Setting.MAX_CONCURRENT_STREAMS, before), True
                self._first_room = settings.get(Setting.INITIAL_WINDOW_SIZE, self._first_room)
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
        """End a connection of which the library is done. A GOAWAY needs no state, so it is written here."""
        self._over = True
        self._said += goaway_frame(self._last, code)
        self._events.append((FAULT, 0, code, why))


@lru_cache(maxsize=4)  # of the few limits that are in use
def _configuration(limits: EngineLimits) -> Configuration:
    return Configuration(
        auto_window_update=False,
        peer_max_concurrent_streams=1,
        max_outbound_ack=1000,
        stream_reset_rate_limit=_MANY,
        max_continuations=limits.continuations,
        glitch_rate_limit=_MANY,
        max_inbound_header_list_size=2 * limits.header_list_bytes,
        max_inbound_header_count=2 * limits.header_fields,
    )


def _settings(role: bool, limits: EngineLimits) -> dict[int, int]:
    settings: dict[int, int] = {Setting.MAX_HEADER_LIST_SIZE: limits.header_list_bytes}
    if role is SERVER:
        settings[Setting.MAX_CONCURRENT_STREAMS] = limits.streams
        settings[Setting.NO_RFC7540_PRIORITIES] = 1
    else:
        settings[Setting.ENABLE_PUSH] = 0
    if limits.stream_window != _WINDOW_BYTES:
        settings[Setting.INITIAL_WINDOW_SIZE] = limits.stream_window
    return settings
