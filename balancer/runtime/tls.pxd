cimport cython

from balancer.runtime.deadlines cimport Deadlines
from balancer.runtime.tcp cimport TcpTransport
from balancer.runtime.tls_sessions cimport TlsSession

cdef int _OPEN
cdef int _ENDING
cdef int _ENDED
cdef Py_ssize_t _ENCRYPTED_AT_ONCE


cdef class TlsTransport:
    cdef public Deadlines _deadlines
    cdef public object _loop, _protocol, place
    cdef public bint closed
    cdef public double deadline, next_look
    cdef public bint _has_said_goodbye, _is_full, _is_held, _is_reading, _is_told
    cdef public int _phase
    cdef public TlsSession _tls
    cdef public TcpTransport _tcp
    cdef public double _goodbye_seconds
    cdef public list _unwritten
    cpdef write(self, bytes data)
    cpdef Py_ssize_t get_write_buffer_size(self) except -1
    cpdef bint is_closing(self)
    cpdef close(self)
    cpdef close_at_once(self)
    cpdef abort(self)
    cpdef open(self)
    cpdef get_extra_info(self, name, default=*)
    cpdef set_protocol(self, protocol)
    cpdef buffer_updated(self, Py_ssize_t nbytes)
    cpdef _read_on(self)
    cpdef _go_on(self)
    cpdef _limit_end(self)
    @cython.locals(more=bint, is_at_end=bint, size=Py_ssize_t, count=Py_ssize_t, got=Py_ssize_t)
    cpdef _hand_on(self)
    cpdef _end_input(self)
    @cython.locals(size=Py_ssize_t, start=Py_ssize_t, count=Py_ssize_t)
    cpdef bint _encrypt(self, bytes data) except -1
    cpdef _write_rest(self)
    @cython.locals(data=bytes)
    cpdef _flush(self)
    cpdef _flush_or_hold(self)
    cpdef _fail(self)
    @cython.locals(waits=bint)
    cpdef _tell(self)
    @cython.locals(is_at_end=bint)
    cpdef _end(self)
