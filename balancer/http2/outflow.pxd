from balancer.http2.client_stream cimport Http2RequestStream
from balancer.http2.engine cimport Engine


cdef class Outflow:
    cdef public Engine _engine
    cdef public dict _stalled, last_writes
    cdef public list _unread, _wrote
    cdef public bint has_room
    cpdef bint is_watching(self)
    cpdef double next_limit(self) except? -1
    cpdef wrote(self, Http2RequestStream stream)
    cpdef all_wait(self, list streams)
    cpdef answered(self, Http2RequestStream stream, double now)
    cpdef await_end(self, long number, double now)
    cpdef closed(self, long number)
    cpdef forget(self, Http2RequestStream stream)
    cpdef clear(self)
