from cpython cimport time

from balancer.http.consumers cimport ResponseConsumer
from balancer.http.streams cimport EndpointStream, RequestStream
from balancer.proxy.account cimport Account
from balancer.proxy.context cimport RequestContext


cdef class ExchangeOwner:
    cpdef bint passes_over(self, long status, bint is_request_here) except -1
    cpdef bint leaves_silent(self, sent) except -1
    cpdef limit_passed(self)
    cpdef exchange_ended(self, Exchange exchange)


cdef class Exchange(ResponseConsumer):
    cdef public Account _account
    cdef public RequestStream _client
    cdef public RequestContext _context
    cdef public bint _ended, _is_repeated, _request_done, _tunnelled
    cdef public object _filter, _source, error
    cdef public frozenset _hidden
    cdef public ExchangeOwner _owner
    cdef public EndpointStream endpoint
    cdef public double ended_at, first_byte_at
    cpdef begin(self)
    cdef _await_endpoint(self)
    cdef _arm(self)
    cdef _fail(self, kind)
    cdef _finish(self, double now)
    cdef _start_body(self)
