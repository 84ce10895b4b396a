cimport cython

from balancer.http.layouts cimport HeadEditLayout, RequestHeadLayout, ResponseHeadLayout
from balancer.http.streams cimport ClientStream
from balancer.http2.engine cimport Engine
from balancer.http2.fields cimport trailer_fields
from balancer.http2.flushing cimport Flushed, Flusher
from balancer.http2.responses cimport client_fields


cdef int BYTES_A_WRITE


cdef class Http2RequestStream


cdef class StreamCarrier(Flushed):
    cdef public Engine engine
    cdef public Flusher flusher
    cdef public bint is_stuck
    cdef public long long unsent
    cpdef touch(self)
    cpdef has_written(self, Http2RequestStream stream)
    cpdef write_much(self)
    cpdef give_back(self, long number, Py_ssize_t size)
    cpdef break_off(self, long number, long long code)
    cpdef stream_ended(self, Http2RequestStream stream)


cdef class Http2RequestStream(ClientStream):
    cdef public StreamCarrier _connection
    cdef public object _consumer, _waiting
    cdef public tuple _end
    cdef public bint _is_flowing, _is_held, is_answered, is_fed, is_whole
    cdef public Py_ssize_t _owed
    cdef public long number
    cdef public RequestHeadLayout unbegun
    cpdef take(self, bytes data)
    cpdef take_end(self, tuple trailers)
    @cython.locals(piece=bytes)
    cpdef deliver(self)
    @cython.locals(ends=bint, left=tuple)
    cpdef respond(self, ResponseHeadLayout head, HeadEditLayout edit, bytes data, tuple trailers)
    cdef _give_back(self)
    cdef _drop(self)
