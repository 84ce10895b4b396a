"""What nghttp2 asks for when it frames: bytes of bodies, and where the frames go.

A callback raises nothing: it notes what failed.
"""

from cpython.bytes cimport PyBytes_AS_STRING
from libc.string cimport memcpy

from balancer.http2.native_fields cimport block, put
from balancer.http2.native_output cimport append, extend
from balancer.http2.native_session cimport NativeSession, error_of, failed
from balancer.http2.native_streams cimport Stream, Streams
from balancer.http2.nghttp2 cimport (
    BODY_EOF,
    BODY_NO_COPY,
    BODY_NO_END_STREAM,
    CAT_REQUEST,
    CODE_INTERNAL_ERROR,
    ERR_CALLBACK_FAILURE,
    ERR_DEFERRED,
    ERR_NOMEM,
    ERR_SESSION_CLOSING,
    ERR_STREAM_CLOSED,
    ERR_STREAM_CLOSING,
    ERR_STREAM_SHUT_WR,
    ERR_TEMPORAL_CALLBACK_FAILURE,
    ERR_WOULDBLOCK,
    FRAME_GOAWAY,
    FRAME_HEADERS,
    Frame,
    set_callback,
    submit_rst_stream,
    submit_trailer,
)

from os import urandom


cdef int speak() except -1:
    """Lets sessions that are made from now on hand over what they have to say."""
    set_callback(b"send_callback2", <void *>_on_output)
    set_callback(b"send_data_callback", <void *>_on_body)
    set_callback(b"on_frame_not_send_callback", <void *>_on_unsent)
    set_callback(b"on_frame_send_callback", <void *>_on_sent)
    set_callback(b"rand_callback", <void *>_on_seed)
    return 0


cdef void _on_seed(uint8_t *destination, size_t size) noexcept:
    cdef bytes seed
    try:
        seed = urandom(size)
        memcpy(destination, PyBytes_AS_STRING(seed), size)
    except BaseException:  # the library takes what stands there as its seed, and does not ask for an error
        pass


cdef Py_ssize_t _on_output(Session *_session, const uint8_t *data, size_t size, int flags, void *user) noexcept:
    """Takes bytes for the transport, as far as they may be taken now."""
    cdef NativeSession session = <NativeSession>user
    try:
        if session._room >= 0:
            if session._room == 0:
                return ERR_WOULDBLOCK
            size = min(size, <size_t>session._room)
            session._room -= size
        append(data, size)
        return size
    except BaseException as error:
        return failed(session, error)


cdef Py_ssize_t read_body(
    Session *_session, int32_t number, uint8_t *buffer, size_t most, uint32_t *flags, DataSource *source, void *user
) noexcept:
    """Says how much of a body goes into the next frame, and whether that is its end."""
    cdef NativeSession session = <NativeSession>user
    cdef Stream stream
    cdef Streams streams
    cdef Py_ssize_t size, count
    cdef tuple trailers
    cdef int result
    try:
        streams = session._streams
        stream = streams.find(number)
        if stream is None:
            return ERR_TEMPORAL_CALLBACK_FAILURE
        size = min(<Py_ssize_t>most, stream.size)
        if stream.ends and size == stream.size:
            flags[0] |= BODY_EOF
            if stream.trailers is not None:
                trailers = stream.trailers
                count = put(trailers, False)
                result = submit_trailer(_session, number, block, count)
                if result < 0:
                    return failed(session, error_of(result))
                stream.trailers = None
                flags[0] |= BODY_NO_END_STREAM
        elif not size:
            stream.is_deferred = True
            return ERR_DEFERRED
        if session._room < 0 or size + 9 <= session._room:  # a whole frame, which `_on_body` copies once
            flags[0] |= BODY_NO_COPY
        else:
            stream.copy(<char *>buffer, size)
            session._queued -= size
        return size
    except BaseException as error:
        return failed(session, error)


cdef int _on_body(
    Session *_session, Frame *frame, const uint8_t *head, size_t size, DataSource *source, void *user
) noexcept:
    """Copies a frame of data into the buffer."""
    cdef char *to
    cdef NativeSession session = <NativeSession>user
    cdef Stream stream
    cdef Streams streams
    try:
        streams = session._streams
        stream = streams.find(frame.hd.stream_id)
        if stream is None or frame.data.padlen or stream.size < <Py_ssize_t>size:
            raise RuntimeError("a frame that nobody prepared")
        to = extend(size + 9)
        memcpy(to, head, 9)
        stream.copy(to + 9, size)
        session._queued -= size
        if session._room >= 0:
            session._room -= size + 9
        return 0
    except BaseException as error:
        return failed(session, error)


cdef int _on_sent(Session *_session, const Frame *frame, void *user) noexcept:
    cdef NativeSession session
    if frame.hd.type != FRAME_GOAWAY:
        return 0
    session = <NativeSession>user
    try:
        session._note_goaway(&frame.goaway)
        return 0
    except BaseException as error:
        return failed(session, error)


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
