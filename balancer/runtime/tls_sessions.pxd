cimport cython

from balancer.runtime cimport calls

cdef bytearray MEMORY
cdef Py_ssize_t _DROPPED_AT_ONCE
cdef Py_ssize_t _FEW_BYTES


cdef class TlsSession:
    cdef public object _pending, _put, _read, _take, _write, incoming, outgoing, ssl_object
    cpdef hear(self, Py_ssize_t nbytes)
    cpdef bint has_input(self) except -1
    cpdef bint has_output(self) except -1
    cpdef Py_ssize_t read_into(self, Py_ssize_t at, Py_ssize_t size) except -2
    cpdef Py_ssize_t encrypt(self, bytes data, Py_ssize_t start, Py_ssize_t size) except -2
    cpdef bytes take(self)
    cpdef bint shake(self) except -1
    @cython.locals(count=Py_ssize_t)
    cpdef bint drop_input(self) except -1
    cpdef bint say_goodbye(self) except -1


cpdef TlsSession wrapped(tls)
