cimport cython
from cpython cimport time

from balancer.http.layouts cimport RequestHeadLayout
from balancer.http.origin cimport Origin
from balancer.http.streams cimport Outgoing
from balancer.live cimport View
from balancer.matching.destinations cimport Destination
from balancer.matching.routing cimport RouteTable
from balancer.matching.served cimport Match, Served
from balancer.model.layouts cimport RoutePolicyLayout
from balancer.proxy cimport answering
from balancer.proxy.account cimport Account, new_request_id
from balancer.proxy.accounting cimport Accounting
from balancer.proxy.attempts cimport Attempts
from balancer.proxy.context cimport RequestContext
from balancer.proxy.preparing cimport changed, prepare
from balancer.proxy.supplies cimport Supplies


cdef class Request(RequestContext):
    cdef public object _go
    @cython.locals(origin=Origin, view=View, routes=RouteTable, match=Match, served=Served)
    cpdef begin(self, RequestHeadLayout request)
    @cython.locals(served=Served, attempts=Attempts)
    cdef _let_in(self, RequestHeadLayout request, Match match, go, body=*)
    @cython.locals(policy=RoutePolicyLayout)
    cdef bint _holds_back(self, RequestHeadLayout request, Destination to, go) except -1
    cpdef answer(self, kind, kept=*)
    cpdef end(self)
