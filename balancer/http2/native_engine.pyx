"""The engine with nghttp2 itself: what `ngh2_engine` does, without an object of the binding for each event.

Only compiled builds have it (docs/adr/0046-own-binding.md). The library calls back, in `native_hearing` with what a peer
says, and in `native_saying` for what goes to the peer.
"""

from cpython.bytes cimport PyBytes_AS_STRING
from libc.stdint cimport int32_t, uint8_t

from balancer.http2.budgets cimport Budgets
from balancer.http2.native_fields cimport block, put
from balancer.http2.native_hearing cimport listen
from balancer.http2.native_output cimport Held, bring_back, set_aside, taken, used
from balancer.http2.native_saying cimport read_body, speak
from balancer.http2.native_session cimport NativeSession
from balancer.http2.native_streams cimport ANSWERED, BEGUN, BROKEN, OPEN, SHARING, Stream, Streams
from balancer.http2.nghttp2 cimport (
    ERR_NOMEM,
    DataProvider,
    Urgency,
    session_change_urgency,
    session_check_request_allowed,
    session_consume,
    session_get_last_proc_stream_id,
    session_get_remote_window_size,
    session_get_stream_local_close,
    session_get_stream_remote_window_size,
    session_mem_recv2,
    session_resume_data,
    session_send,
    session_want_read,
    session_want_write,
    submit_goaway,
    submit_headers,
    submit_ping,
    submit_request2,
    submit_response2,
    submit_rst_stream,
    submit_shutdown_notice,
)
from balancer.http2.uploads cimport Uploads

from balancer.http2.budgets import BYTES_A_FRAME as _BYTES_A_FRAME
from balancer.http2.events import CANCEL, ENHANCE_YOUR_CALM, INTERNAL_ERROR, PROTOCOL_ERROR

cdef int BYTES_A_FRAME = _BYTES_A_FRAME
cdef enum:
    A_TURN = 16384  # bytes; the first so many of a body need no second turn
    URGENCY = 3


cdef class NativeEngine(NativeSession):
    """One connection of nghttp2."""

    cpdef list receive(self, bytes data, double now):
        cdef Budgets budgets = self._counts
        cdef Py_ssize_t result
        cdef str why
        if self._over:
            return []
        why = budgets.overdrawn(self.frames, data, now)
        if why:
            return self._flooded(why)
        result = session_mem_recv2(self._session, <const uint8_t *>PyBytes_AS_STRING(data), len(data))
        if result != len(data):
            self._stop(result, PROTOCOL_ERROR)
            return self.take_events()
        if self._is_closing:
            self._look_for_end()
        if budgets.is_spent:
            why = budgets.breach_of_streams(self.frames)
            if why:
                return self._flooded(why)
        return self.take_events()

    cpdef bint has_bytes(self) except -1:
        cdef Uploads uploads
        if self._over:
            return bool(self._said)
        if session_want_write(self._session) or not session_want_read(self._session):  # the end is an event
            return True
        uploads = self._uploads
        return uploads.may_send()

    cpdef bytes take_bytes(self, most=None):
        cdef bytes said
        if self._over:
            said = self._said
            self._said = b""
            return said
        said = self._framed(most)
        if self._over and said is None:
            return self.take_bytes()
        if self._said:
            said = self._said + said
            self._said = b""
        return said

    cdef bytes _framed(self, most):
        """What the library makes of all that is queued. None: the connection is over by an error."""
        cdef Held held = set_aside()
        try:
            return taken() if self._fill(most) else None
        finally:
            bring_back(held)

    cdef bint _fill(self, most) except -1:
        """Fills the buffer. False: the connection is over by an error."""
        cdef Uploads uploads = self._uploads
        cdef Py_ssize_t room = -1 if most is None or not self._is_server else most
        if not self._frame(room):
            return False
        if self._is_server:
            return not self._over or used() != <size_t>room or self._frame_rest()
        uploads.begin_turn(most == 0, self._window())
        if uploads.may_send():  # behind the heads of their streams, without which these have no window
            uploads.send(self, most)
            if not self._frame(-1):
                return False
            uploads.room = self._window()
        return True

    cdef bint _frame_rest(self) except -1:
        """What is left of a connection that is over: no later call asks the library."""
        self._room = -1
        session_send(self._session)
        return True

    cdef bint _frame(self, Py_ssize_t room) except -1:
        """Lets the library fill the buffer. False: the connection is over by an error."""
        cdef int result
        if room == 0 or self._over:
            return True
        self._room = room
        result = session_send(self._session)
        if result < 0:
            self._stop(result, INTERNAL_ERROR)
            return False
        if self._is_closing:
            self._look_for_end()
        return True

    cpdef list take_events(self):
        cdef list events
        if self._run is not None:
            self._end_run()
        events = self._events
        if events:
            self._events = []
        return events

    cpdef bint can_request(self) except -1:
        return not self._over and session_check_request_allowed(self._session) != 0

    cpdef long request(self, fields, bint ends) except -1:
        cdef DataProvider provider
        cdef Py_ssize_t count
        cdef int32_t number
        cdef Stream stream
        cdef Streams streams
        if self._over or self._is_server or not session_check_request_allowed(self._session):
            return 0
        count = put(fields, True)
        provider.source.ptr = NULL
        provider.read_callback = read_body
        number = submit_request2(self._session, NULL, block, count, NULL if ends else &provider, NULL)
        if number < 0:
            if number == ERR_NOMEM:
                raise MemoryError
            return 0
        streams = self._streams
        stream = streams.begin(number)
        stream.has_body = not ends
        self._counts.opened += 1
        return number

    cdef Stream _stream(self, long number):
        """A stream that was reported and is not gone, or None."""
        cdef Streams streams = self._streams
        return streams.find(number)

    cpdef interim(self, long stream, fields):
        cdef Stream known = self._stream(stream)
        cdef Py_ssize_t count
        if known is None or not self._may_answer(stream, known):
            return
        count = put(fields, False)
        if submit_headers(self._session, 0, stream, NULL, block, count, NULL) == ERR_NOMEM:
            raise MemoryError

    cpdef respond(self, long stream, fields, bint ends):
        cdef Stream known = self._stream(stream)
        cdef DataProvider provider
        cdef Py_ssize_t count
        cdef int result
        if known is None:
            return
        known.state = ANSWERED
        if not self._may_answer(stream, known):
            return
        count = put(fields, True)
        provider.source.ptr = NULL
        provider.read_callback = read_body
        result = submit_response2(self._session, stream, block, count, NULL if ends else &provider)
        if result == 0:
            known.is_answered = True
            known.has_body = not ends
        elif result == ERR_NOMEM:
            raise MemoryError

    cdef bint _may_answer(self, long number, Stream stream):
        return (
            not self._over
            and self._is_server
            and not stream.is_answered
            and session_get_stream_local_close(self._session, number) >= 0
        )

    cpdef data(self, long stream, bytes data, bint ends):
        cdef Stream known = self._stream(stream)
        cdef Urgency urgency
        cdef Py_ssize_t size = len(data)
        if known is None:
            return
        self._counts.ours += 1 + size // BYTES_A_FRAME
        if not self._is_server:
            self._upload(stream, known, data, ends)
            return
        if self._over:
            return
        if known.state <= BEGUN and size:
            if known.state == BEGUN or size > A_TURN:
                urgency.urgency = URGENCY
                urgency.inc = 1  # streams share the window of a connection in turns, and not one after the other
                if session_get_stream_local_close(self._session, stream) < 0:
                    return
                if session_change_urgency(self._session, stream, &urgency, 1) < 0:
                    return
                known.state = SHARING
            elif not ends:
                known.state = BEGUN
        self._send(stream, known, data, ends)

    cdef _upload(self, long number, Stream stream, bytes data, bint ends):
        """Sends a piece of a body as a client: at once if it is the first and both windows have room for it."""
        cdef Uploads uploads = self._uploads
        cdef bint is_first = stream.state == OPEN
        stream.state = SHARING  # no later piece may overtake this one
        if uploads.goes_at_once(number, len(data), is_first):
            self._send(number, stream, data, ends)
        else:
            uploads.keep(number, data, ends)

    cdef _send(self, long number, Stream stream, bytes data, bint ends):
        """Puts a piece behind what waits for the library, unless the body is over."""
        if self._over or not stream.has_body or stream.ends:
            return
        if data:
            stream.add(data)
            self._queued += len(data)
        stream.ends = ends
        if stream.is_deferred and (data or ends) and session_resume_data(self._session, number) == 0:
            stream.is_deferred = False

    cdef long long _window(self):
        """That of the connection, 0 if it has ended."""
        return 0 if self._over else session_get_remote_window_size(self._session)

    def room(self, long stream):
        """For `Uploads`, as the next two: what nghttp2 would frame at once."""
        cdef Stream known = self._stream(stream)
        cdef Uploads uploads = self._uploads
        cdef long long window
        if self._over or known is None or session_get_stream_local_close(self._session, stream) < 0:
            return 0
        window = session_get_stream_remote_window_size(self._session, stream)
        return min(uploads.room, window - known.size)

    def send_piece(self, long stream, bytes data, bint ends):
        cdef Stream known = self._stream(stream)
        cdef Uploads uploads = self._uploads
        uploads.room -= len(data)
        if known is not None:
            self._send(stream, known, data, ends)

    def send_end(self, long stream, tuple trailers):
        cdef Stream known = self._stream(stream)
        if self._over or known is None or not known.has_body or known.ends:
            return
        known.trailers = trailers
        known.ends = True
        if known.is_deferred and session_resume_data(self._session, stream) == 0:
            known.is_deferred = False

    cpdef trailers(self, long stream, fields):
        cdef Uploads uploads = self._uploads
        if self._is_server or not uploads.end(stream, fields):
            self.send_end(stream, fields)

    cpdef reset(self, long stream, long long code):
        cdef Stream known = self._stream(stream)
        if known is None:
            return
        if code != PROTOCOL_ERROR:  # that is the answer to an error of the peer, and counts as such
            known.state = BROKEN
        if not self._over and submit_rst_stream(self._session, 0, stream, code) == ERR_NOMEM:
            raise MemoryError

    cpdef bint withdraw(self, long stream) except -1:
        cdef Streams streams = self._streams
        cdef Uploads uploads = self._uploads
        cdef Stream known = streams.find(stream)
        # The library knows no stream before its head is written.
        if self._over or known is None or session_get_stream_local_close(self._session, stream) >= 0:
            return False
        if submit_rst_stream(self._session, 0, stream, CANCEL) == ERR_NOMEM:
            raise MemoryError
        streams.end(stream)
        self._queued -= known.size
        uploads.forget(stream)
        return True

    cpdef received(self, long stream, Py_ssize_t size):
        cdef Streams streams = self._streams
        cdef Stream known
        cdef Py_ssize_t owed
        if not size or self._over:
            return
        known = streams.find(stream)
        owed = known.owed if known is not None else streams.left(stream)
        if size > owed:
            raise ValueError("more is given back than came")
        if session_consume(self._session, stream, size) < 0:
            return
        if known is not None:
            known.owed = owed - size
        else:
            streams.leave(stream, owed - size)

    cpdef long long queued(self, long stream) except -1:
        cdef Stream known = self._stream(stream)
        cdef Py_ssize_t kept = 0 if known is None else known.size
        cdef Uploads uploads = self._uploads
        return kept if self._is_server else kept + uploads.queued(stream)

    cpdef long long queued_in_all(self) except -1:
        cdef Uploads uploads = self._uploads
        return self._queued if self._is_server else self._queued + uploads.queued_in_all()

    cpdef ping(self, bytes data):
        if len(data) != 8:
            raise ValueError("a PING has eight bytes")
        if not self._over and submit_ping(self._session, 0, <const uint8_t *>PyBytes_AS_STRING(data)) == ERR_NOMEM:
            raise MemoryError

    cpdef shutdown_notice(self):
        if not self._over and self._is_server and submit_shutdown_notice(self._session) == ERR_NOMEM:
            raise MemoryError

    cpdef goaway(self, long long code):
        cdef int32_t last
        if not self._over:
            last = session_get_last_proc_stream_id(self._session)
            if submit_goaway(self._session, 0, last, code, NULL, 0) == ERR_NOMEM:
                raise MemoryError

    cdef list _flooded(self, str why):
        self._run = None
        self._run_rest = None
        self._events.clear()
        self._break_off(ENHANCE_YOUR_CALM, why)
        return self.take_events()


listen()
speak()
