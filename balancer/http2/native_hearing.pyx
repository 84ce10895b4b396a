"""What nghttp2 reports of a peer becomes events: the tuples that whoever uses the engine reads.

A callback raises nothing: it notes what failed.
"""

from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_Resize
from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport int32_t, uint8_t, uint32_t
from libc.string cimport memcpy

from balancer.http2.native_fields cimport FieldBlock
from balancer.http2.native_session cimport NativeSession, failed
from balancer.http2.native_streams cimport BROKEN, OPEN, Stream, Streams
from balancer.http2.nghttp2 cimport (
    CAT_REQUEST,
    CAT_RESPONSE,
    ERR_TEMPORAL_CALLBACK_FAILURE,
    FLAG_ACK,
    FLAG_END_STREAM,
    FRAME_DATA,
    FRAME_GOAWAY,
    FRAME_HEADERS,
    FRAME_PING,
    FRAME_RST_STREAM,
    FRAME_SETTINGS,
    FRAME_WINDOW_UPDATE,
    NV_NO_INDEX,
    Frame,
    Session,
    SettingsFrame,
    set_callback,
)
from balancer.http2.uploads cimport Uploads

from balancer.http2.events import CLOSED, GOAWAY, HEAD, INTERIM, PING_ACK, RESET, SETTINGS, TRAILERS, WINDOW

cdef enum:
    MAX_CONCURRENT_STREAMS = 3
    INITIAL_WINDOW_SIZE = 4
cdef long long STREAMS_MOST = 2**32 - 1


cdef int listen() except -1:
    """Lets sessions that are made from now on report."""
    set_callback(b"on_begin_headers_callback", <void *>_on_block)
    set_callback(b"on_header_callback", <void *>_on_field)
    set_callback(b"on_invalid_header_callback", <void *>_on_invalid_field)
    set_callback(b"on_data_chunk_recv_callback", <void *>_on_piece)
    set_callback(b"on_frame_recv_callback", <void *>_on_frame)
    set_callback(b"on_stream_close_callback", <void *>_on_close)
    return 0


cdef _take_frame(NativeSession session, const Frame *frame):
    cdef int kind = frame.hd.type
    cdef int32_t number = frame.hd.stream_id
    if kind == FRAME_DATA:
        _take_data(session, number, frame.hd.flags & FLAG_END_STREAM != 0)
    elif kind == FRAME_HEADERS:
        _take_block(session, number, frame.headers.cat, frame.hd.flags & FLAG_END_STREAM != 0)
    elif kind == FRAME_WINDOW_UPDATE:
        session._report((WINDOW, number))
    elif kind == FRAME_RST_STREAM:
        _take_reset(session, number, frame.rst_stream.error_code)
    elif kind == FRAME_SETTINGS:
        if not frame.hd.flags & FLAG_ACK:
            _take_settings(session, &frame.settings)
    elif kind == FRAME_PING:
        if frame.hd.flags & FLAG_ACK:
            session._report((PING_ACK, 0, (<const char *>frame.ping.opaque_data)[:8]))
    elif kind == FRAME_GOAWAY:
        session._note_goaway(&frame.goaway)
        session._is_left = True
        session._report((GOAWAY, frame.goaway.last_stream_id, frame.goaway.error_code))


cdef _take_block(NativeSession session, int32_t number, int category, bint ends):
    cdef FieldBlock block = session._block
    cdef Streams streams = session._streams
    cdef tuple fields = block.end()
    cdef bytes status
    if category == CAT_REQUEST:
        session._last = number
        streams.begin(number)
        session._counts.heard += 1
        session._report((HEAD, number, fields, ends))
        return
    status = _status(fields)
    if status.startswith(b"1"):
        session._report((INTERIM, number, fields))
    elif status:
        session._report((HEAD, number, fields, ends))
    else:
        session._counts.heard += 1
        session._report((TRAILERS, number, fields))


cdef _take_data(NativeSession session, int32_t number, bint ends):
    cdef bytes data = b""
    cdef Streams streams = session._streams
    if session._piece is not None:
        if session._piece_of == number:
            data = session._piece if type(session._piece) is bytes else bytes(session._piece)
        session._piece = None
    if data:
        streams.came(number, len(data))
    elif not ends:
        session._counts.count_empty()
    session._report_data(number, data, ends)


cdef int _take_piece(NativeSession session, int32_t number, const uint8_t *data, size_t size) except -1:
    """A part of a frame of data: what comes in several reads of the socket."""
    cdef Py_ssize_t before
    if session._piece is None or session._piece_of != number:
        session._piece = PyBytes_FromStringAndSize(<const char *>data, size)
        session._piece_of = number
        return 0
    if type(session._piece) is bytes:
        session._piece = bytearray(session._piece)
    before = len(session._piece)
    PyByteArray_Resize(session._piece, before + size)
    memcpy(PyByteArray_AS_STRING(session._piece) + before, data, size)
    return 0


cdef _take_reset(NativeSession session, int32_t number, uint32_t code):
    cdef Streams streams = session._streams
    cdef Stream stream = streams.find(number)
    if stream is not None:
        if stream.state == OPEN and session._is_server:
            session._counts.count_reset()
        stream.state = BROKEN
        session._report((RESET, number, code))


cdef _take_settings(NativeSession session, const SettingsFrame *settings):
    cdef long long streams = session.peer_max_streams if session._is_known else STREAMS_MOST  # unless it says less
    cdef Uploads uploads = session._uploads
    cdef size_t at
    for at in range(settings.niv):
        if settings.iv[at].settings_id == MAX_CONCURRENT_STREAMS:
            streams = settings.iv[at].value
        elif settings.iv[at].settings_id == INITIAL_WINDOW_SIZE and not session._is_server:
            uploads.first_room = settings.iv[at].value
    session.peer_max_streams = streams
    session._is_known = True
    session._report((SETTINGS, 0))


cdef _take_close(NativeSession session, int32_t number, uint32_t code):
    """A stream is gone. One that nobody had heard of was malformed from its head on."""
    cdef Streams streams = session._streams
    cdef Stream stream = streams.end(number)
    cdef Uploads uploads = session._uploads
    if session._piece_of == number:
        session._piece = None
    if not session._is_server:
        uploads.forget(number)
    if code and (stream is None or stream.state != BROKEN):
        session._counts.count_error(code)
    if stream is not None:
        session._queued -= stream.size
        session._report((CLOSED, number, code))


cdef bytes _status(tuple fields):
    """The value of :status, empty if there is none."""
    for field in fields:
        if field[0] == b":status":
            return field[1]
    return b""


cdef int _on_block(Session *_session, const Frame *frame, void *user) noexcept:
    cdef NativeSession session = <NativeSession>user
    cdef FieldBlock block
    try:
        block = session._block
        block.begin(frame.hd.type == FRAME_HEADERS and frame.headers.cat <= CAT_RESPONSE)
        return 0
    except BaseException as error:
        return failed(session, error)


cdef int _on_field(
    Session *_session,
    const Frame *frame,
    const uint8_t *name,
    size_t name_size,
    const uint8_t *value,
    size_t value_size,
    uint8_t flags,
    void *user,
) noexcept:
    cdef NativeSession session = <NativeSession>user
    cdef FieldBlock block
    try:
        block = session._block
        if block.add(name, name_size, value, value_size, flags & NV_NO_INDEX != 0):
            return 0
        return failed(session, block.wrong)
    except BaseException as error:
        return failed(session, error)


cdef int _on_invalid_field(
    Session *_session,
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


cdef int _on_piece(Session *_session, uint8_t flags, int32_t number, const uint8_t *data, size_t size, void *user) noexcept:
    cdef NativeSession session = <NativeSession>user
    try:
        return _take_piece(session, number, data, size)
    except BaseException as error:
        return failed(session, error)


cdef int _on_frame(Session *_session, const Frame *frame, void *user) noexcept:
    cdef NativeSession session = <NativeSession>user
    try:
        _take_frame(session, frame)
        return 0
    except BaseException as error:
        return failed(session, error)


cdef int _on_close(Session *_session, int32_t number, uint32_t code, void *user) noexcept:
    cdef NativeSession session = <NativeSession>user
    try:
        _take_close(session, number, code)
        return 0
    except BaseException as error:
        return failed(session, error)
