cimport cython
from cpython cimport time

from balancer.http.streams cimport EndpointStream, Outgoing, Pool
from balancer.http.layouts cimport RequestHeadLayout
from balancer.matching.destinations cimport Destination
from balancer.model.layouts cimport RoutePolicyLayout
from balancer.picking.backend cimport BackendRuntime
from balancer.picking.balancers cimport Balancer, Picker
from balancer.picking.budget cimport RetryBudget
from balancer.picking cimport outcomes
from balancer.picking.loads cimport Load
from balancer.picking.members cimport Member, Pick
from balancer.proxy.exchange cimport Exchange
from balancer.proxy.succession cimport Succession


cdef class Job(Succession):
    cdef public double _attempt_started
    cdef public bint _is_retry, _was_repeated
    cdef public tuple _route_editors
    cpdef connection_wanted(self)
    cpdef forwarded(self, error)
    @cython.locals(runtime=BackendRuntime, load=Load, budget=RetryBudget, balancer=Balancer, picker=Picker, pick=Pick)
    @cython.locals(policy=RoutePolicyLayout, request=RequestHeadLayout)
    cpdef forward(self, Outgoing outgoing, Destination to, double now, kept=*, intercepts=*)
    @cython.locals(member=Member, method=bytes, pool=Pool, stream=EndpointStream)
    cdef _attempt(self, Pick pick, double now)
    cdef _exchange(self, EndpointStream endpoint)
    cdef _failed(self, kind)
    @cython.locals(pick=Pick, runtime=BackendRuntime, budget=RetryBudget, started=double)
    cdef _attempted(self, error, double now, double answered_at)
    cdef _end_forwarding(self, error)
