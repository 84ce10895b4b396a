from cpython cimport time

from balancer.http.consumers cimport ResponseConsumer
from balancer.http.streams cimport EndpointStream, RequestStream
from balancer.proxy.account cimport Account
from balancer.proxy.context cimport RequestContext
from balancer.proxy.exchange_owner cimport ExchangeOwner


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
    cpdef begin(self)
    cdef _await_endpoint(self)
    cdef _arm(self)
    cdef _fail(self, kind)
    cdef _finish(self, double now, error=*)
    cdef _start_body(self)
