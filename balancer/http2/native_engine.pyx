"""The engine with nghttp2 itself: what `ngh2_engine` does, without an object of the binding for each event.

Only compiled builds have it (docs/adr/0046-own-binding.md). The library is the one inside of ngh2. It calls back, and a
callback makes the tuple that whoever uses the engine gets. A callback raises nothing: it notes what failed, and whoever
called the library looks.
"""

cimport cython
from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_Resize
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_CheckExact, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.tuple cimport PyTuple_CheckExact, PyTuple_GET_ITEM, PyTuple_GET_SIZE
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcmp, memcpy
from posix.dlfcn cimport RTLD_NOW, dlopen, dlsym

from balancer.http2.budgets cimport Budgets
from balancer.http2.engine cimport Engine
from balancer.http2.uploads cimport Uploads

include "nghttp2.pxi"

from collections import deque
from os import urandom

from ngh2 import NeverIndexedHeader, _core
from ngh2 import __version__ as ngh2_version

from balancer.http2.budgets import BYTES_A_FRAME as _BYTES_A_FRAME
from balancer.http2.engine import SERVER
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
)
from balancer.http2.fields import NAMES, NEVER_ALIKE
from balancer.http2.frames import PREFACE, Frames, goaway_frame
from balancer.http2.ngh2_settings import MANY, WINDOW_BYTES, settings_of

VERSION = "0.3.0"
"""Of ngh2: the one whose nghttp2 (1.70.0) has the behaviour and the structs that are believed in here."""

_make_tuple = tuple.__new__  # of a named tuple, whose own way is ten times as long
cdef int BYTES_A_FRAME = _BYTES_A_FRAME
cdef enum:
    OPEN = 0  # the states of a stream, as in `ngh2_engine`
    ANSWERED = 1
    BEGUN = 2
    SHARING = 3
    BROKEN = 4
    A_TURN = 16384  # bytes; the first so many of a body need no second turn
    URGENCY = 3
    MAX_CONCURRENT_STREAMS = 3
    INITIAL_WINDOW_SIZE = 4
    OUT_LEAST = 65536
    OUT_KEPT = 524288
    FIELDS_A_BLOCK = 64
    REMEMBERED_BYTES = 4096  # of a block of fields; connections are many, and most of them idle
cdef long long STREAMS_MOST = 2**32 - 1

cdef void *_library = NULL
cdef Callbacks *_callbacks = NULL
# One buffer for all connections: it is filled and handed on in one call.
cdef char *_out = NULL
cdef size_t _out_size = 0
cdef size_t _out_used = 0
cdef NameValue *_block = NULL  # the fields that are handed over; the library copies them
cdef Py_ssize_t _block_size = 0
cdef unsigned long long _odd_sizes = 0  # a bit for each size of a name in NEVER_ALIKE
cdef dict _made = {}  # what the library is told, by the one part of it that a setting may change


cdef int _bind(void **pointer, bytes name) except -1:
    """Finds a function of nghttp2. Raises `ImportError`."""
    pointer[0] = dlsym(_library, name)
    if pointer[0] == NULL:
        raise ImportError(f"ngh2 does not export {name.decode()}")
    return 0


cdef int _set(bytes name, void *callback) except -1:
    cdef SetCallback setter = NULL
    _bind(<void **>&setter, b"nghttp2_session_callbacks_set_" + name)
    setter(_callbacks, callback)
    return 0


cdef int _load() except -1:
    """Finds what is called, in the library that ngh2 has loaded. Raises `ImportError`."""
    global _library
    cdef bytes path = _core.__file__.encode()
    if ngh2_version != VERSION:
        raise ImportError(f"ngh2 is {ngh2_version}, and the engine was tried with {VERSION}")
    cdef int (*callbacks_new)(Callbacks **) noexcept
    _library = dlopen(path, RTLD_NOW)
    if _library == NULL:
        raise ImportError(f"{_core.__file__} of ngh2 cannot be opened")
    _bind(<void **>&session_send, b"nghttp2_session_send")
    _bind(<void **>&session_want_read, b"nghttp2_session_want_read")
    _bind(<void **>&session_want_write, b"nghttp2_session_want_write")
    _bind(<void **>&session_check_request_allowed, b"nghttp2_session_check_request_allowed")
    _bind(<void **>&session_get_last_proc_stream_id, b"nghttp2_session_get_last_proc_stream_id")
    _bind(<void **>&session_get_remote_window_size, b"nghttp2_session_get_remote_window_size")
    _bind(<void **>&submit_shutdown_notice, b"nghttp2_submit_shutdown_notice")
    _bind(<void **>&session_resume_data, b"nghttp2_session_resume_data")
    _bind(<void **>&session_get_stream_remote_window_size, b"nghttp2_session_get_stream_remote_window_size")
    _bind(<void **>&session_get_stream_local_close, b"nghttp2_session_get_stream_local_close")
    _bind(<void **>&session_del, b"nghttp2_session_del")
    _bind(<void **>&session_mem_recv2, b"nghttp2_session_mem_recv2")
    _bind(<void **>&session_consume, b"nghttp2_session_consume")
    _bind(<void **>&session_set_local_window_size, b"nghttp2_session_set_local_window_size")
    _bind(<void **>&session_change_urgency, b"nghttp2_session_change_extpri_stream_priority")
    _bind(<void **>&submit_settings, b"nghttp2_submit_settings")
    _bind(<void **>&submit_request2, b"nghttp2_submit_request2")
    _bind(<void **>&submit_response2, b"nghttp2_submit_response2")
    _bind(<void **>&submit_headers, b"nghttp2_submit_headers")
    _bind(<void **>&submit_trailer, b"nghttp2_submit_trailer")
    _bind(<void **>&submit_rst_stream, b"nghttp2_submit_rst_stream")
    _bind(<void **>&submit_ping, b"nghttp2_submit_ping")
    _bind(<void **>&submit_goaway, b"nghttp2_submit_goaway")
    _bind(<void **>&error_text, b"nghttp2_strerror")
    _bind(<void **>&session_client_new2, b"nghttp2_session_client_new2")
    _bind(<void **>&session_server_new2, b"nghttp2_session_server_new2")
    callbacks_new = NULL
    _bind(<void **>&callbacks_new, b"nghttp2_session_callbacks_new")
    if callbacks_new(&_callbacks):
        raise MemoryError
    _set(b"send_callback2", <void *>_on_output)
    _set(b"send_data_callback", <void *>_on_body)
    _set(b"on_begin_headers_callback", <void *>_on_block)
    _set(b"on_header_callback", <void *>_on_field)
    _set(b"on_invalid_header_callback", <void *>_on_invalid_field)
    _set(b"on_data_chunk_recv_callback", <void *>_on_piece)
    _set(b"on_frame_recv_callback", <void *>_on_frame)
    _set(b"on_stream_close_callback", <void *>_on_close)
    _set(b"on_frame_not_send_callback", <void *>_on_unsent)
    _set(b"on_frame_send_callback", <void *>_on_sent)
    _set(b"rand_callback", <void *>_on_seed)
    return 0


cdef Option *_options(limits) except NULL:
    """What the library is told of connections with these limits, made once."""
    known = _made.get(limits.continuations)
    if known is None:
        known = _made[limits.continuations] = <size_t>_new_options(limits.continuations)
    return <Option *><size_t>known


cdef Option *_new_options(size_t continuations) except NULL:
    """What the library is told of a connection: no bounds below those that zonal counts itself."""
    cdef int (*option_new)(Option **) noexcept
    cdef Option *option = NULL
    cdef SetNumber number = NULL
    cdef SetSize size = NULL
    cdef SetRate rate = NULL
    cdef SetKind kind = NULL
    option_new = NULL
    _bind(<void **>&option_new, b"nghttp2_option_new")
    if option_new(&option):
        raise MemoryError
    for name, value in (
        (b"no_auto_window_update", 1),
        (b"peer_max_concurrent_streams", 1),
        (b"max_reserved_remote_streams", 200),
    ):
        _bind(<void **>&number, b"nghttp2_option_set_" + name)
        number(option, value)
    for name, value in (
        (b"max_send_header_block_length", 65536),
        (b"max_deflate_dynamic_table_size", 4096),
        (b"max_outbound_ack", 1000),
        (b"max_settings", 32),
        (b"max_continuations", continuations),
    ):
        _bind(<void **>&size, b"nghttp2_option_set_" + name)
        size(option, value)
    for name in (b"stream_reset_rate_limit", b"glitch_rate_limit"):
        _bind(<void **>&rate, b"nghttp2_option_set_" + name)
        rate(option, MANY[0], MANY[1])
    _bind(<void **>&kind, b"nghttp2_option_set_builtin_recv_extension_type")
    for value in (FRAME_ALTSVC, FRAME_ORIGIN, FRAME_PRIORITY_UPDATE):
        kind(option, value)
    return option


cdef int _reserve(size_t more) except -1:
    """Makes room for so many further bytes in the buffer."""
    global _out, _out_size
    cdef size_t size
    cdef char *larger
    if _out_used + more <= _out_size:
        return 0
    size = max(2 * _out_size, _out_used + more, <size_t>OUT_LEAST)
    larger = <char *>realloc(_out, size)
    if larger == NULL:
        raise MemoryError
    _out = larger
    _out_size = size
    return 0


cdef bytes _taken():
    """What is in the buffer, which is empty then."""
    global _out, _out_size, _out_used
    cdef bytes said = PyBytes_FromStringAndSize(_out, _out_used) if _out_used else b""
    _out_used = 0
    if _out_size > OUT_KEPT:
        free(_out)
        _out = NULL
        _out_size = 0
    return said


cdef Py_ssize_t _put(tuple fields, bint is_head) except -1:
    """Puts fields where the library reads them. `fields` has to be kept until it has. Returns how many there are.

    Of a head, those in NEVER_ALIKE are marked.
    """
    global _block, _block_size
    cdef Py_ssize_t count = len(fields), at
    cdef NameValue *each
    if count > _block_size:
        each = <NameValue *>realloc(_block, max(count, <Py_ssize_t>FIELDS_A_BLOCK) * sizeof(NameValue))
        if each == NULL:
            raise MemoryError
        _block = each
        _block_size = max(count, <Py_ssize_t>FIELDS_A_BLOCK)
    for at in range(count):
        each = &_block[at]
        each.flags = _put_field(<object>PyTuple_GET_ITEM(fields, at), each)
        if is_head and each.namelen < 64 and _odd_sizes >> each.namelen & 1 and fields[at][0] in NEVER_ALIKE:
            each.flags = NV_NO_INDEX
    return count


cdef inline int _put_field(field, NameValue *to) except -1:
    """Puts a field there. Returns its flags."""
    cdef object name, value
    cdef bint is_plain = PyTuple_CheckExact(field)
    if not isinstance(field, tuple) or PyTuple_GET_SIZE(field) != 2:
        raise TypeError("each field must be a pair")
    name = <object>PyTuple_GET_ITEM(field, 0)
    value = <object>PyTuple_GET_ITEM(field, 1)
    if not PyBytes_CheckExact(name) or not PyBytes_CheckExact(value):
        raise TypeError("each field must be a pair of bytes")
    to.name = <uint8_t *>PyBytes_AS_STRING(name)
    to.namelen = PyBytes_GET_SIZE(name)
    to.value = <uint8_t *>PyBytes_AS_STRING(value)
    to.valuelen = PyBytes_GET_SIZE(value)
    return 0 if is_plain or not isinstance(field, NeverIndexedHeader) else NV_NO_INDEX


cdef int _note_sizes() except -1:
    global _odd_sizes
    for name in NEVER_ALIKE:
        _odd_sizes |= <unsigned long long>1 << <int>len(name)
    return 0


cdef inline bint _equals(
    field, const uint8_t *name, size_t name_size, const uint8_t *value, size_t value_size
) noexcept:
    """Whether a field, which is a pair of bytes, has this name and this value."""
    cdef object one = <object>PyTuple_GET_ITEM(field, 0), other = <object>PyTuple_GET_ITEM(field, 1)
    return (
        <size_t>PyBytes_GET_SIZE(one) == name_size
        and <size_t>PyBytes_GET_SIZE(other) == value_size
        and memcmp(PyBytes_AS_STRING(other), value, value_size) == 0
        and memcmp(PyBytes_AS_STRING(one), name, name_size) == 0
    )


@cython.final
@cython.freelist(64)
cdef class _Stream:
    """A stream that was reported, and the body that is sent on it. `owed`: bytes that came and were not given back."""

    cdef int state
    cdef bint is_answered, has_body, ends, is_deferred
    cdef bytes first  # the first piece of the body that was not framed yet; its beginning may have been
    cdef object rest  # further pieces, None until there are some
    cdef Py_ssize_t at, size, owed
    cdef tuple trailers

    cdef int add(self, bytes data) except -1:
        self.size += len(data)
        if self.first is None:
            self.first = data
        else:
            if self.rest is None:
                self.rest = deque()
            self.rest.append(data)
        return 0

    cdef int copy(self, char *to, Py_ssize_t most) except -1:
        """Moves so many bytes, which must be there."""
        cdef Py_ssize_t count
        cdef bytes piece
        self.size -= most
        while most:
            piece = self.first
            count = min(PyBytes_GET_SIZE(piece) - self.at, most)
            memcpy(to, PyBytes_AS_STRING(piece) + self.at, count)
            to += count
            most -= count
            self.at += count
            if self.at == PyBytes_GET_SIZE(piece):
                self.at = 0
                self.first = self.rest.popleft() if self.rest else None
        return 0

    cdef drop(self):
        self.has_body = False
        self.size = 0
        self.at = 0
        self.first = None
        self.rest = None
        self.trailers = None


cdef class NativeEngine(Engine):
    """One connection of nghttp2."""

    cdef Session *_session
    cdef Budgets _counts
    cdef Uploads _uploads
    cdef bint _is_server, _is_known, _is_left, _is_closing, _over
    cdef list _events
    cdef dict _streams  # those that were reported, by number
    cdef long _recent_number  # of the stream that was asked for last, most of which is asked for again
    cdef _Stream _recent
    cdef dict _left  # bytes that came on streams that are closed, and were not given back
    cdef bytes _said
    cdef long _last
    cdef object _failure  # what a callback could not do: an exception, or why the connection has to end
    cdef Py_ssize_t _room  # what may be put into the buffer; -1 is no bound
    cdef long long _queued
    # The block of fields that comes, and the last one, most of which comes again.
    cdef list _fields
    cdef tuple _alike, _head, _tail
    cdef Py_ssize_t _count, _fields_most
    cdef size_t _list_bytes, _list_most
    cdef bint _is_head
    # The frame of data that comes.
    cdef object _piece
    cdef int32_t _piece_of
    cdef uint32_t _code
    cdef bytes _why

    def __cinit__(self):
        self._session = NULL
        self._events = []
        self._streams = {}
        self._left = {}
        self._said = b""
        self._why = b""
        self._alike = self._head = self._tail = ()
        self._over = False
        self._recent_number = -1

    def __init__(self, role, limits):
        cdef MakeSession make
        if self._session != NULL:
            raise RuntimeError("made twice")
        self._is_server = role is SERVER
        self.frames = Frames(PREFACE if self._is_server else b"")
        self._counts = Budgets(limits, is_server=self._is_server)
        self.budgets = self._counts
        self._uploads = Uploads(0 if self._is_server else WINDOW_BYTES)
        self._list_most = 2 * limits.header_list_bytes
        self._fields_most = 2 * limits.header_fields
        self.open_streams = 0
        self.peer_max_streams = 1
        make = session_server_new2 if self._is_server else session_client_new2
        if make(&self._session, _callbacks, <void *>self, _options(limits)):
            raise MemoryError
        self._say_first(settings_of(role, limits), limits.connection_window)

    cdef int _say_first(self, dict settings, long window) except -1:
        cdef SettingsEntry entries[8]
        cdef size_t count = 0
        for name, value in settings.items():
            entries[count].settings_id = name
            entries[count].value = value
            count += 1
        if submit_settings(self._session, 0, entries, count):
            raise MemoryError
        if window > WINDOW_BYTES and session_set_local_window_size(self._session, 0, 0, window):
            raise MemoryError
        return 0

    def __dealloc__(self):
        if self._session != NULL:
            session_del(self._session)

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
        global _out, _out_size, _out_used
        cdef char *out = _out
        cdef size_t size = _out_size, used = _out_used
        if used:  # a search for garbage has led here, amid the turn of another connection
            _out = NULL
            _out_size = _out_used = 0
        try:
            return _taken() if self._fill(most) else None
        finally:
            _out_used = 0
            if used:
                free(_out)
                _out = out
                _out_size = size
                _out_used = used

    cdef bint _fill(self, most) except -1:
        """Fills the buffer. False: the connection is over by an error."""
        cdef Uploads uploads = self._uploads
        cdef Py_ssize_t room = -1 if most is None or not self._is_server else most
        if not self._frame(room):
            return False
        if self._is_server:
            return not self._over or _out_used != <size_t>room or self._frame_rest()
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
        cdef list events = self._events
        if events:
            self._events = []
        return events

    cpdef bint can_request(self) except -1:
        return not self._over and session_check_request_allowed(self._session) != 0

    cpdef long request(self, fields, bint ends) except -1:
        cdef DataProvider provider
        cdef Py_ssize_t count
        cdef int32_t number
        cdef _Stream stream
        if self._over or self._is_server or not session_check_request_allowed(self._session):
            return 0
        count = _put(fields, True)
        provider.source.ptr = NULL
        provider.read_callback = _read_body
        number = submit_request2(self._session, NULL, _block, count, NULL if ends else &provider, NULL)
        if number < 0:
            if number == ERR_NOMEM:
                raise MemoryError
            return 0
        stream = self._begin_stream(number)
        stream.has_body = not ends
        self._counts.opened += 1
        self.open_streams += 1
        return number

    cdef _Stream _begin_stream(self, long number):
        cdef _Stream stream = _Stream.__new__(_Stream)
        self._streams[number] = stream
        self._recent = stream
        self._recent_number = number
        return stream

    cdef _Stream _stream(self, long number):
        """A stream that was reported and is not gone, or None."""
        cdef _Stream stream
        if number == self._recent_number:
            return self._recent
        stream = self._streams.get(number)
        if stream is not None:
            self._recent = stream
            self._recent_number = number
        return stream

    cpdef interim(self, long stream, fields):
        cdef _Stream known = self._stream(stream)
        cdef Py_ssize_t count
        if known is None or not self._may_answer(stream, known):
            return
        count = _put(fields, False)
        if submit_headers(self._session, 0, stream, NULL, _block, count, NULL) == ERR_NOMEM:
            raise MemoryError

    cpdef respond(self, long stream, fields, bint ends):
        cdef _Stream known = self._stream(stream)
        cdef DataProvider provider
        cdef Py_ssize_t count
        cdef int result
        if known is None:
            return
        known.state = ANSWERED
        if not self._may_answer(stream, known):
            return
        count = _put(fields, True)
        provider.source.ptr = NULL
        provider.read_callback = _read_body
        result = submit_response2(self._session, stream, _block, count, NULL if ends else &provider)
        if result == 0:
            known.is_answered = True
            known.has_body = not ends
        elif result == ERR_NOMEM:
            raise MemoryError

    cdef bint _may_answer(self, long number, _Stream stream):
        return (
            not self._over
            and self._is_server
            and not stream.is_answered
            and session_get_stream_local_close(self._session, number) >= 0
        )

    cpdef data(self, long stream, bytes data, bint ends):
        cdef _Stream known = self._stream(stream)
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

    cdef _upload(self, long number, _Stream stream, bytes data, bint ends):
        """Sends a piece of a body as a client: at once if it is the first and both windows have room for it."""
        cdef Uploads uploads = self._uploads
        cdef bint is_first = stream.state == OPEN
        stream.state = SHARING  # no later piece may overtake this one
        if uploads.goes_at_once(number, len(data), is_first):
            self._send(number, stream, data, ends)
        else:
            uploads.keep(number, data, ends)

    cdef _send(self, long number, _Stream stream, bytes data, bint ends):
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
        cdef _Stream known = self._stream(stream)
        cdef Uploads uploads = self._uploads
        cdef long long window
        if self._over or known is None or session_get_stream_local_close(self._session, stream) < 0:
            return 0
        window = session_get_stream_remote_window_size(self._session, stream)
        return min(uploads.room, window - known.size)

    def send_piece(self, long stream, bytes data, bint ends):
        cdef _Stream known = self._stream(stream)
        cdef Uploads uploads = self._uploads
        uploads.room -= len(data)
        if known is not None:
            self._send(stream, known, data, ends)

    def send_end(self, long stream, tuple trailers):
        cdef _Stream known = self._stream(stream)
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
        cdef _Stream known = self._stream(stream)
        if known is None:
            return
        if code != PROTOCOL_ERROR:  # that is the answer to an error of the peer, and counts as such
            known.state = BROKEN
        if not self._over and submit_rst_stream(self._session, 0, stream, code) == ERR_NOMEM:
            raise MemoryError

    cpdef received(self, long stream, Py_ssize_t size):
        cdef _Stream known
        cdef Py_ssize_t owed
        if not size or self._over:
            return
        known = self._stream(stream)
        owed = known.owed if known is not None else self._left.get(stream, 0)
        if size > owed:
            raise ValueError("more is given back than came")
        if session_consume(self._session, stream, size) < 0:
            return
        if known is not None:
            known.owed = owed - size
        elif owed > size:
            self._left[stream] = owed - size
        else:
            del self._left[stream]

    cpdef long long queued(self, long stream) except -1:
        cdef _Stream known = self._stream(stream)
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

    # What the library reports.

    cdef _begin_block(self, const Frame *frame):
        self._is_head = frame.hd.type == FRAME_HEADERS and frame.headers.cat <= CAT_RESPONSE
        self._alike = self._head if self._is_head else self._tail
        self._fields = None
        self._count = 0
        self._list_bytes = 0

    cdef int _take_field(
        self, const uint8_t *name, size_t name_size, const uint8_t *value, size_t value_size, bint is_secret
    ) except -1:
        """Takes a field: most are those of the block before, at the same place."""
        cdef Py_ssize_t at = self._count
        cdef object field
        cdef bytes one, other
        self._list_bytes += name_size + value_size + 32
        if self._list_bytes > self._list_most:
            self._failure = "received header list exceeds configured size"
            return ERR_CALLBACK_FAILURE
        if at >= self._fields_most:
            self._failure = "received header list exceeds configured count"
            return ERR_CALLBACK_FAILURE
        self._count = at + 1
        if at < PyTuple_GET_SIZE(self._alike):
            field = <object>PyTuple_GET_ITEM(self._alike, at)
            if PyTuple_CheckExact(field) != is_secret and _equals(field, name, name_size, value, value_size):
                if self._fields is not None:
                    self._fields.append(field)
                return 0
        if self._fields is None:
            self._fields = list(self._alike[:at])
        one = PyBytes_FromStringAndSize(<const char *>name, name_size)
        one = NAMES.get(one, one)
        other = PyBytes_FromStringAndSize(<const char *>value, value_size)
        self._fields.append(_make_tuple(NeverIndexedHeader, (one, other)) if is_secret else (one, other))
        return 0

    cdef tuple _end_block(self):
        cdef tuple fields
        if self._fields is None and self._count == len(self._alike):
            return self._alike
        fields = tuple(self._fields) if self._fields is not None else self._alike[: self._count]
        self._fields = None
        if self._list_bytes <= REMEMBERED_BYTES:
            if self._is_head:
                self._head = fields
            else:
                self._tail = fields
        return fields

    cdef _take_frame(self, const Frame *frame):
        cdef int kind = frame.hd.type
        cdef int32_t number = frame.hd.stream_id
        if kind == FRAME_DATA:
            self._take_data(number, frame.hd.flags & FLAG_END_STREAM != 0)
        elif kind == FRAME_HEADERS:
            self._take_block(number, frame.headers.cat, frame.hd.flags & FLAG_END_STREAM != 0)
        elif kind == FRAME_WINDOW_UPDATE:
            self._events.append((WINDOW, number))
        elif kind == FRAME_RST_STREAM:
            self._take_reset(number, frame.rst_stream.error_code)
        elif kind == FRAME_SETTINGS:
            if not frame.hd.flags & FLAG_ACK:
                self._take_settings(&frame.settings)
        elif kind == FRAME_PING:
            if frame.hd.flags & FLAG_ACK:
                self._events.append((PING_ACK, 0, (<const char *>frame.ping.opaque_data)[:8]))
        elif kind == FRAME_GOAWAY:
            self._note_goaway(&frame.goaway)
            self._is_left = True
            self._events.append((GOAWAY, frame.goaway.last_stream_id, frame.goaway.error_code))

    cdef _take_block(self, int32_t number, int category, bint ends):
        cdef tuple fields = self._end_block()
        cdef bytes status
        if category == CAT_REQUEST:
            self._last = number
            self._begin_stream(number)
            self.open_streams += 1
            self._counts.heard += 1
            self._events.append((HEAD, number, fields, ends))
            return
        status = _status(fields)
        if status.startswith(b"1"):
            self._events.append((INTERIM, number, fields))
        elif status:
            self._events.append((HEAD, number, fields, ends))
        else:
            self._counts.heard += 1
            self._events.append((TRAILERS, number, fields))

    cdef _take_data(self, int32_t number, bint ends):
        cdef bytes data = b""
        cdef _Stream stream
        if self._piece is not None:
            if self._piece_of == number:
                data = self._piece if type(self._piece) is bytes else bytes(self._piece)
            self._piece = None
        if data:
            stream = self._stream(number)
            if stream is not None:
                stream.owed += len(data)
            else:
                self._left[number] = self._left.get(number, 0) + len(data)
        elif not ends:
            self._counts.count_empty()
        self._events.append((DATA, number, data, ends))

    cdef int _take_piece(self, int32_t number, const uint8_t *data, size_t size) except -1:
        """A part of a frame of data: what comes in several reads of the socket."""
        cdef Py_ssize_t before
        if self._piece is None or self._piece_of != number:
            self._piece = PyBytes_FromStringAndSize(<const char *>data, size)
            self._piece_of = number
            return 0
        if type(self._piece) is bytes:
            self._piece = bytearray(self._piece)
        before = len(self._piece)
        PyByteArray_Resize(self._piece, before + size)
        memcpy(PyByteArray_AS_STRING(self._piece) + before, data, size)
        return 0

    cdef _take_reset(self, int32_t number, uint32_t code):
        cdef _Stream stream = self._stream(number)
        if stream is not None:
            if stream.state == OPEN and self._is_server:
                self._counts.count_reset()
            stream.state = BROKEN
            self._events.append((RESET, number, code))

    cdef _take_settings(self, const SettingsFrame *settings):
        cdef long long streams = self.peer_max_streams if self._is_known else STREAMS_MOST  # unless the peer says so
        cdef Uploads uploads = self._uploads
        cdef size_t at
        for at in range(settings.niv):
            if settings.iv[at].settings_id == MAX_CONCURRENT_STREAMS:
                streams = settings.iv[at].value
            elif settings.iv[at].settings_id == INITIAL_WINDOW_SIZE and not self._is_server:
                uploads.first_room = settings.iv[at].value
        self.peer_max_streams = streams
        self._is_known = True
        self._events.append((SETTINGS, 0))

    cdef _note_goaway(self, const GoawayFrame *frame):
        """Somebody ends the connection: from now on its end is looked for."""
        self._is_closing = True
        self._code = frame.error_code
        self._why = PyBytes_FromStringAndSize(<const char *>frame.opaque_data, frame.opaque_data_len)

    cdef _take_close(self, int32_t number, uint32_t code):
        """A stream is gone. One that nobody had heard of was malformed from its head on."""
        cdef _Stream stream = self._streams.pop(number, None)
        cdef Uploads uploads = self._uploads
        if number == self._recent_number:
            self._recent = None
            self._recent_number = -1
        if not self._streams:
            self._streams.clear()  # gives its table back
        if self._piece_of == number:
            self._piece = None
        if not self._is_server:
            uploads.forget(number)
        if code and (stream is None or stream.state != BROKEN):
            self._counts.count_error(code)
        if stream is not None:
            self._queued -= stream.size
            if stream.owed:
                self._left[number] = stream.owed
            self.open_streams -= 1
            self._events.append((CLOSED, number, code))

    # The end.

    cdef _look_for_end(self):
        """Whether the library reads and writes no more."""
        if self._over or session_want_read(self._session) or session_want_write(self._session):
            return
        self._over = True
        self._drop_bodies()
        if self._is_left:
            self._events.append((FAULT, 0, 0, ""))
        else:
            self._events.append((FAULT, 0, self._code, self._why.decode("latin-1")))

    cdef _drop_bodies(self):
        cdef _Stream stream
        for stream in self._streams.values():
            stream.drop()
        self._queued = 0
        self._piece = None

    cdef _stop(self, Py_ssize_t result, long long code):
        """The library failed, or a callback of ours did. Raises what nobody expected."""
        failure = self._failure
        self._failure = None
        self._drop_bodies()
        if isinstance(failure, BaseException):
            self._over = True
            raise failure
        if result == ERR_NOMEM:
            self._over = True
            raise MemoryError
        if failure is None:
            failure = "HTTP/2 engine did not consume all input" if result >= 0 else _error_text(result)
        self._break_off(code, failure)

    cdef list _flooded(self, str why):
        self._events.clear()
        self._break_off(ENHANCE_YOUR_CALM, why)
        return self.take_events()

    cdef _break_off(self, long long code, str why):
        """End a connection of which the library is done. A GOAWAY needs no state, so it is written here."""
        self._over = True
        self._said += goaway_frame(self._last, code)
        self._events.append((FAULT, 0, code, why))


cdef str _error_text(int result):
    return f"HTTP/2 engine error: {error_text(result).decode('ascii')}"


cdef bytes _status(tuple fields):
    """The value of :status, empty if there is none."""
    for field in fields:
        if field[0] == b":status":
            return field[1]
    return b""


# The callbacks. Each gives back what the library understands, and raises nothing.


cdef int _failed(NativeEngine engine, error) noexcept:
    engine._failure = error
    return ERR_CALLBACK_FAILURE


cdef void _on_seed(uint8_t *destination, size_t size) noexcept:
    cdef bytes seed
    try:
        seed = urandom(size)
        memcpy(destination, PyBytes_AS_STRING(seed), size)
    except BaseException:  # the library does not ask whether it failed: the seed is what stood there
        pass


cdef Py_ssize_t _on_output(Session *session, const uint8_t *data, size_t size, int flags, void *user) noexcept:
    """Takes bytes for the transport, as far as they may be taken now."""
    global _out_used
    cdef NativeEngine engine = <NativeEngine>user
    try:
        if engine._room >= 0:
            if engine._room == 0:
                return ERR_WOULDBLOCK
            size = min(size, <size_t>engine._room)
            engine._room -= size
        _reserve(size)
        memcpy(_out + _out_used, data, size)
        _out_used += size
        return size
    except BaseException as error:
        return _failed(engine, error)


cdef Py_ssize_t _read_body(
    Session *session, int32_t number, uint8_t *buffer, size_t most, uint32_t *flags, DataSource *source, void *user
) noexcept:
    """Says how much of a body goes into the next frame, and whether that is its end."""
    cdef NativeEngine engine = <NativeEngine>user
    cdef _Stream stream
    cdef Py_ssize_t size, count
    cdef tuple trailers
    cdef int result
    try:
        stream = engine._stream(number)
        if stream is None:
            return ERR_TEMPORAL_CALLBACK_FAILURE
        size = min(<Py_ssize_t>most, stream.size)
        if stream.ends and size == stream.size:
            flags[0] |= BODY_EOF
            if stream.trailers is not None:
                trailers = stream.trailers
                count = _put(trailers, False)
                result = submit_trailer(session, number, _block, count)
                if result < 0:
                    return _failed(engine, _error_text(result))
                stream.trailers = None
                flags[0] |= BODY_NO_END_STREAM
        elif not size:
            stream.is_deferred = True
            return ERR_DEFERRED
        if engine._room < 0 or size + 9 <= engine._room:  # a whole frame, which `_on_body` copies once
            flags[0] |= BODY_NO_COPY
        else:
            stream.copy(<char *>buffer, size)
            engine._queued -= size
        return size
    except BaseException as error:
        return _failed(engine, error)


cdef int _on_body(
    Session *session, Frame *frame, const uint8_t *head, size_t size, DataSource *source, void *user
) noexcept:
    """Copies a frame of data into the buffer."""
    global _out_used
    cdef NativeEngine engine = <NativeEngine>user
    cdef _Stream stream
    try:
        stream = engine._stream(frame.hd.stream_id)
        if stream is None or frame.data.padlen or stream.size < <Py_ssize_t>size:
            raise RuntimeError("a frame that nobody prepared")
        _reserve(size + 9)
        memcpy(_out + _out_used, head, 9)
        stream.copy(_out + _out_used + 9, size)
        _out_used += size + 9
        engine._queued -= size
        if engine._room >= 0:
            engine._room -= size + 9
        return 0
    except BaseException as error:
        return _failed(engine, error)


cdef int _on_block(Session *session, const Frame *frame, void *user) noexcept:
    cdef NativeEngine engine = <NativeEngine>user
    try:
        engine._begin_block(frame)
        return 0
    except BaseException as error:
        return _failed(engine, error)


cdef int _on_field(
    Session *session,
    const Frame *frame,
    const uint8_t *name,
    size_t name_size,
    const uint8_t *value,
    size_t value_size,
    uint8_t flags,
    void *user,
) noexcept:
    cdef NativeEngine engine = <NativeEngine>user
    try:
        return engine._take_field(name, name_size, value, value_size, flags & NV_NO_INDEX != 0)
    except BaseException as error:
        return _failed(engine, error)


cdef int _on_invalid_field(
    Session *session,
    const Frame *frame,
    const uint8_t *name,
    size_t name_size,
    const uint8_t *value,
    size_t value_size,
    uint8_t flags,
    void *user,
) noexcept:
    """Its message is malformed: the library would drop the field alone."""
    return ERR_TEMPORAL_CALLBACK_FAILURE


cdef int _on_piece(Session *session, uint8_t flags, int32_t number, const uint8_t *data, size_t size, void *user) noexcept:
    cdef NativeEngine engine = <NativeEngine>user
    try:
        return engine._take_piece(number, data, size)
    except BaseException as error:
        return _failed(engine, error)


cdef int _on_frame(Session *session, const Frame *frame, void *user) noexcept:
    cdef NativeEngine engine = <NativeEngine>user
    try:
        engine._take_frame(frame)
        return 0
    except BaseException as error:
        return _failed(engine, error)


cdef int _on_close(Session *session, int32_t number, uint32_t code, void *user) noexcept:
    cdef NativeEngine engine = <NativeEngine>user
    try:
        engine._take_close(number, code)
        return 0
    except BaseException as error:
        return _failed(engine, error)


cdef int _on_sent(Session *session, const Frame *frame, void *user) noexcept:
    cdef NativeEngine engine
    if frame.hd.type != FRAME_GOAWAY:
        return 0
    engine = <NativeEngine>user
    try:
        engine._note_goaway(&frame.goaway)
        return 0
    except BaseException as error:
        return _failed(engine, error)


cdef int _on_unsent(Session *session, const Frame *frame, int result, void *user) noexcept:
    """A head cannot be sent: the stream ends, and whoever uses it hears of that."""
    cdef int32_t number = frame.hd.stream_id
    if frame.hd.type != FRAME_HEADERS or frame.headers.cat == CAT_REQUEST:  # the library closes these itself
        return 0
    if result in (ERR_STREAM_CLOSED, ERR_STREAM_CLOSING, ERR_STREAM_SHUT_WR, ERR_SESSION_CLOSING):
        return 0
    if submit_rst_stream(session, 0, number, CODE_INTERNAL_ERROR) == ERR_NOMEM:
        return ERR_CALLBACK_FAILURE
    return 0


_load()
_note_sizes()
