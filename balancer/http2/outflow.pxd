cimport cython

from balancer.http2.client_stream cimport Http2RequestStream
from balancer.http2.engine cimport Engine
from balancer.http2.windows cimport Windows


cdef class Outflow:
    cdef public Engine _engine
    cdef public list _unread
    cdef public dict last_writes
    cdef public Windows windows
    cpdef bint is_watching(self)
    cpdef double next_limit(self) except? -1
    @cython.locals(data=bytes)
    cpdef bint write(self, transport, bint is_stuck, int writes) except -1
    cpdef wrote(self, Http2RequestStream stream)
    cpdef answered(self, Http2RequestStream stream, double now)
    cpdef await_end(self, long number, double now)
    cpdef closed(self, long number)
    cpdef forget(self, Http2RequestStream stream)
    cpdef clear(self)
