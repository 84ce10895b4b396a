cimport cython
from cpython cimport time

from balancer.http.streams cimport EndpointStream, Outgoing, Pool
from balancer.http.layouts cimport RequestHeadLayout
from balancer.metrics.recorder cimport Recorder
from balancer.model.layouts cimport RouteLayout, RoutePolicyLayout
from balancer.picking.backend cimport BackendRuntime
from balancer.picking.balancers cimport Balancer, Picker
from balancer.picking.budget cimport RetryBudget, RetryReserve
from balancer.picking cimport outcomes
from balancer.picking.loads cimport Load
from balancer.picking.members cimport Member, Pick
from balancer.proxy.exchange cimport Exchange, ExchangeOwner


cdef class Forwarder:
    cdef public object bodies, health_log, pools
    cdef public Recorder recorder
    cdef public RetryReserve reserve


cdef class Job(ExchangeOwner):
    cdef public double _attempt_started
    cdef public object _branch, _handshake, _intercepts
    cdef public RouteLayout _route
    cdef public Pick _chosen
    cdef public bint _is_retry, _was_repeated
    cdef public Picker _picker
    cdef public tuple _route_editors, _tried
    cdef public BackendRuntime _runtime
    cdef public Forwarder forwarder
    cpdef connection_wanted(self)
    cpdef forwarded(self, error)
    @cython.locals(runtime=BackendRuntime, load=Load, budget=RetryBudget, balancer=Balancer, picker=Picker, pick=Pick)
    @cython.locals(policy=RoutePolicyLayout, request=RequestHeadLayout)
    cpdef forward(self, Outgoing outgoing, RouteLayout route, branch, double now, kept=*, intercepts=*)
    @cython.locals(member=Member, method=bytes, pool=Pool, stream=EndpointStream)
    cdef _attempt(self, Pick pick, double now)
    cdef _exchange(self, EndpointStream endpoint)
    cdef _failed(self, kind)
    @cython.locals(pick=Pick, runtime=BackendRuntime, budget=RetryBudget, started=double)
    cdef _attempted(self, error, double now, double answered_at)
    cdef _end_forwarding(self, error)
