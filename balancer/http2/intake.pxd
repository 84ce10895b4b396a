cimport cython

from balancer.http.current cimport CurrentSettings
from balancer.http.layouts cimport RequestHeadLayout
from balancer.http.origin cimport Origin
from balancer.http.streams cimport RequestServer
from balancer.http2.client_stream cimport Http2RequestStream, StreamCarrier
from balancer.http2.outflow cimport Outflow
from balancer.http2.requests cimport RequestReader

cdef int CLOSED
cdef int DATA
cdef int HEAD
cdef int RESET
cdef int TRAILERS
cdef int WINDOW


cdef class RequestCarrier(StreamCarrier):
    cdef public bint secure
    cpdef await_end(self, Http2RequestStream stream)
    cpdef pinged(self, data)
    cpdef over(self)
    cpdef end_soon(self)


cdef class Intake:
    cdef public RequestCarrier _connection
    cdef public CurrentSettings _current
    cdef public long long _errors
    cdef public Outflow _outflow
    cdef public RequestReader _reader
    cdef public bytes _served
    cdef public object _serves, tally
    cdef public Origin origin
    cdef public long requests
    cdef public RequestServer server
    cdef public dict streams
    @cython.locals(stream=Http2RequestStream, event=tuple, kind=cython.int, number=long, fed=list)
    cpdef take(self, list events)
    cpdef pause_all(self)
    cpdef bint follow_windows(self, bint is_stuck) except -1
    cpdef count_errors(self, long long errors)
    @cython.locals(stream=Http2RequestStream)
    cpdef lose_all(self)
    cpdef let_go(self)
    cpdef guarded(self, long number, step)
    cdef _fail(self, long number)
    @cython.locals(stream=Http2RequestStream)
    cdef _take_head(self, long number, tuple fields, bint ends)
    @cython.locals(request=RequestHeadLayout)
    cdef _admit(self, Http2RequestStream stream, tuple fields, bint ends)
    cdef _begin(self, Http2RequestStream stream, RequestHeadLayout request)
    @cython.locals(stream=Http2RequestStream)
    cdef _take_closed(self, long number)
    cdef _take_of_connection(self, tuple event)
    @cython.locals(stream=Http2RequestStream, kind=cython.int, outflow=Outflow)
    cdef _take_for(self, long number, tuple event, list fed)
    cdef _drop(self, long number, Py_ssize_t size)
    cdef _take_end(self, Http2RequestStream stream, tuple fields)
