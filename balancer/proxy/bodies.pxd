cimport cython

from balancer.http.streams cimport RequestStream


cdef class KeptBody:
    cdef public object _data, _memory, _room
    cdef public str _tenant
    cdef public bint is_whole
    cdef public tuple trailers
    @cython.locals(size=Py_ssize_t)
    cpdef add(self, bytes data)
    cpdef end(self, tuple trailers)
    cpdef close(self)
    cpdef drop(self)
    cpdef count(self, room, str tenant)
    cpdef bint _may_hold(self, Py_ssize_t size) except -1


cpdef sent_of(RequestStream stream, KeptBody kept)
