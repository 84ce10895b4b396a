from libc.stdint cimport int32_t, uint32_t

from balancer.http2.budgets cimport Budgets
from balancer.http2.engine cimport Engine
from balancer.http2.native_fields cimport FieldBlock
from balancer.http2.native_streams cimport Streams
from balancer.http2.nghttp2 cimport GoawayFrame, Session
from balancer.http2.uploads cimport Uploads


cdef class NativeSession(Engine):
    cdef Session *_session
    cdef Budgets _counts
    cdef Uploads _uploads
    cdef bint _is_server, _is_known, _is_left, _is_closing, _over
    cdef list _events
    cdef Streams _streams
    cdef bytes _said
    cdef long _last
    cdef object _failure  # what a callback could not do: an exception, or why the connection has to end
    cdef Py_ssize_t _room  # what may be put into the buffer; -1 is no bound
    cdef long long _queued
    cdef FieldBlock _block
    # The frame of data that comes.
    cdef object _piece
    cdef int32_t _piece_of
    # The frames of data of one stream that came one after the other: what is in the first, and in the others if any.
    cdef bytes _run
    cdef list _run_rest
    cdef int32_t _run_of
    cdef bint _run_ends
    cdef uint32_t _code
    cdef bytes _why
    cdef int _say_first(self, dict settings, long window) except -1
    cdef _report(self, tuple event)
    cdef _report_data(self, int32_t number, bytes data, bint ends)
    cdef _end_run(self)
    cdef _note_goaway(self, const GoawayFrame *frame)
    cdef _look_for_end(self)
    cdef _drop_bodies(self)
    cdef _stop(self, Py_ssize_t result, long long code)
    cdef _break_off(self, long long code, str why)


cdef int failed(NativeSession session, error) noexcept
cdef str error_of(int result)
