cimport cython

from balancer.http.consumers cimport ResponseConsumer
from balancer.http.layouts cimport RequestHeadLayout, ResponseHeadLayout
from balancer.http.streams cimport EndpointStream, Outgoing
from balancer.http2.engine cimport Engine
from balancer.http2.fields cimport trailer_fields
from balancer.http2.flushing cimport Flushed
from balancer.http2.onward cimport endpoint_request_fields
from balancer.http2.responses cimport ResponseReader


cdef class Http2EndpointStream


cdef class EndpointCarrier(Flushed):
    cdef public bint is_stuck, secure
    cdef public ResponseReader reader
    cpdef opened(self, Http2EndpointStream stream, long number)
    cpdef wrote(self, Http2EndpointStream stream)
    cpdef mark(self)
    cpdef unused(self)
    cpdef double now(self) except? -1
    cpdef given_up(self, double began_at)


cdef class Http2EndpointStream(EndpointStream):
    cdef public double _began_at
    cdef public EndpointCarrier _connection
    cdef public ResponseConsumer _consumer
    cdef public Engine _engine
    cdef public long _interims, number
    cdef public bint _has_body, _is_held, _is_sending, was_reset
    cdef public bytes _method
    cdef public Py_ssize_t _owed
    @cython.locals(request=RequestHeadLayout, connection=EndpointCarrier, engine=Engine, number=long)
    cpdef begin(self, ResponseConsumer consumer, Outgoing outgoing)
    @cython.locals(fields=tuple)
    cpdef finish(self, tuple trailers, bytes data=*)
    @cython.locals(consumer=ResponseConsumer, reader=ResponseReader, response=ResponseHeadLayout)
    cpdef head_came(self, tuple fields, bint is_bodiless, bytes data, tuple trailers)
    @cython.locals(consumer=ResponseConsumer)
    cpdef data_came(self, bytes data, bint ends)
    @cython.locals(consumer=ResponseConsumer, reader=ResponseReader, trailers=tuple)
    cpdef trailers_came(self, tuple fields)
    cpdef interim_came(self, tuple fields)
    cpdef closed_with(self, long long code)
    @cython.locals(consumer=ResponseConsumer)
    cpdef fail(self, kind)
    cpdef break_off(self)
    @cython.locals(consumer=ResponseConsumer)
    cpdef pause(self)
    @cython.locals(consumer=ResponseConsumer)
    cpdef unpause(self)
    cdef _refuse(self, ResponseConsumer consumer)
    cdef _end_stream(self)
    cdef _took(self, Py_ssize_t size)
    cdef _give_back(self)
