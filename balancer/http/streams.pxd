cimport cython

from balancer.http.consumers cimport ResponseConsumer
from balancer.http.layouts cimport HeadEditLayout, RequestHeadLayout, ResponseHeadLayout
from balancer.http.origin cimport Origin


@cython.freelist(32)
cdef class Outgoing:
    cdef public tuple added
    cdef public bytes connection, host, request_id
    cdef public bint http_1_0
    cdef public object passing
    cdef public Origin origin
    cdef public frozenset removed, replaced
    cdef public RequestHeadLayout request


cdef class RequestStream:
    cdef public Origin origin
    cdef public bint secure
    cpdef attach(self, consumer)
    cpdef detach(self)
    cpdef bint reads_little(self)
    cpdef start_body(self)
    cpdef hold(self)
    cpdef resume(self)
    cpdef interim(self, ResponseHeadLayout head)
    cpdef respond(self, ResponseHeadLayout head, HeadEditLayout edit, bytes data, tuple trailers)
    cpdef send(self, bytes data)
    cpdef finish(self, tuple trailers)
    cpdef switch(self, ResponseHeadLayout head, HeadEditLayout edit, bytes data)
    cpdef reset(self)
    cpdef release(self)


cdef class ClientStream(RequestStream):
    cdef public bint body_begun, closed, last, writing_paused


cdef class RequestServer:
    cpdef request_came(self, RequestStream stream, RequestHeadLayout request)
    cpdef request_refused(self, RequestStream stream, refusal, RequestHeadLayout request=*)
    cpdef connection_closed(self)


cdef class EndpointStream:
    cdef public bint reused, writing_paused
    cpdef begin(self, ResponseConsumer consumer, Outgoing outgoing)
    cpdef send(self, bytes data)
    cpdef finish(self, tuple trailers, bytes data=*)
    cpdef finish_writing(self)
    cpdef hold(self)
    cpdef resume(self)
    cpdef reset(self)
    cpdef release(self)


cdef class Pool:
    cdef public set awaited
    cpdef EndpointStream lease(self, bint fresh)
