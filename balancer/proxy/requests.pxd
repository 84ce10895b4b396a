cimport cython
from cpython cimport time

from balancer.http.layouts cimport RequestHeadLayout
from balancer.http.streams cimport Outgoing, RequestStream
from balancer.live cimport View
from balancer.matching.destinations cimport Destination
from balancer.matching.routing cimport RouteTable
from balancer.matching.served cimport Match
from balancer.proxy cimport answering
from balancer.proxy.account cimport Account, new_request_id
from balancer.proxy.accounting cimport Accounting
from balancer.proxy.attempts cimport Attempts
from balancer.proxy.context cimport RequestContext
from balancer.proxy.preparing cimport prepare
from balancer.proxy.supplies cimport Supplies


cdef class Request(RequestContext):
    cdef public object _go
    cpdef begin(self, RequestHeadLayout request)
    cdef _let_in(self, RequestHeadLayout request, Match match, go, body=*)
    cdef _forward(self, Outgoing outgoing, Destination to, double now, kept, intercepts)
    cpdef answer(self, kind, kept=*)
    cpdef end(self)
