cimport cython

from balancer.http2.endpoint_stream cimport EndpointCarrier, Http2EndpointStream
from balancer.http2.engine cimport Engine
from balancer.http2.events cimport joined

cdef int CLOSED
cdef int DATA
cdef int HEAD
cdef int INTERIM
cdef int RESET
cdef int TRAILERS


cdef class ResponseCarrier(EndpointCarrier):
    cpdef take_of_connection(self, tuple event)
    cpdef stream_closed(self, Http2EndpointStream stream, long long code)
    cpdef stream_ended(self)


cdef class ResponseIntake:
    cdef public Engine _engine
    cdef public long last_out
    cdef public dict streams
    @cython.locals(at=Py_ssize_t, count=Py_ssize_t, event=tuple, kind=cython.int)
    cpdef take(self, list events, ResponseCarrier carrier)
    @cython.locals(event=tuple, following=tuple, stream=Http2EndpointStream, data=bytes, ends=bint, number=long)
    cdef Py_ssize_t _take_data(self, list events, Py_ssize_t at) except -1
    @cython.locals(event=tuple, fields=tuple, trailers=tuple, stream=Http2EndpointStream, data=bytes, number=long)
    @cython.locals(ends=bint, is_bodiless=bint)
    cdef Py_ssize_t _take_head(self, list events, Py_ssize_t at) except -1
    @cython.locals(stream=Http2EndpointStream)
    cdef _take_of_stream(self, int kind, tuple event)
    @cython.locals(stream=Http2EndpointStream)
    cdef _take_closed(self, long number, long long code, ResponseCarrier carrier)
    cpdef note_written(self)
    @cython.locals(engine=Engine, number=long, stream=Http2EndpointStream)
    cpdef withdraw(self, long most, ResponseCarrier carrier)
    cpdef fail_all(self, kind)


cdef bint _follows(list events, Py_ssize_t at, int kind, long number) except -1
cdef _failed(Http2EndpointStream stream)
