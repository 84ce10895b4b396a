cimport cython
from cpython cimport time

from balancer.http cimport grpc
from balancer.http.consumers cimport ResponseConsumer
from balancer.http.layouts cimport HeadEditLayout, ResponseHeadLayout
from balancer.http.streams cimport EndpointStream, Outgoing, RequestStream
from balancer.http.trailers cimport trailers_for_client
from balancer.live cimport View
from balancer.proxy.account cimport Account
from balancer.proxy.bodies cimport KeptBody, sent_of
from balancer.proxy.context cimport RequestContext
from balancer.proxy.exchange_owner cimport ExchangeOwner
from balancer.runtime.deadlines cimport Alarm


cdef long PASSED_OVER_LEAST


cdef class Exchange(ResponseConsumer):
    cdef public Account _account
    cdef public RequestStream _client
    cdef public RequestContext _context
    cdef public bint _ended, _is_repeated, _request_done, _tunnelled
    cdef public object _filter, _source
    cdef public frozenset _hidden
    cdef public ExchangeOwner _owner
    cdef public EndpointStream endpoint
    cdef public double _first_byte_at
    @cython.locals(client=RequestStream, outgoing=Outgoing)
    cpdef begin(self, RequestContext context, ExchangeOwner owner, EndpointStream endpoint)
    @cython.locals(kept=KeptBody)
    cdef bint _takes(self, bytes data) except -1
    @cython.locals(kept=KeptBody)
    cdef _end_request(self, tuple trailers, bytes data)
    cdef _finish_request(self, tuple trailers, bytes data=*)
    @cython.locals(view=View, edit=HeadEditLayout, status=long)
    cpdef response_started(self, ResponseHeadLayout response, bytes data, tuple trailers)
    cdef _await_endpoint(self)
    cdef _arm(self)
    cdef _fail(self, kind)
    cdef _finish(self, double now, error=*)
    cdef _start_body(self)
