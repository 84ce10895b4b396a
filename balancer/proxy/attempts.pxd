cimport cython
from cpython cimport time

from balancer.http cimport grpc
from balancer.http.layouts cimport RequestHeadLayout
from balancer.http.streams cimport EndpointStream, Outgoing, Pool
from balancer.matching.destinations cimport Destination
from balancer.model.layouts cimport RoutePolicyLayout
from balancer.picking.backend cimport BackendRuntime
from balancer.picking.balancers cimport Balancer, Picker
from balancer.picking.budget cimport RetryBudget
from balancer.picking cimport outcomes
from balancer.picking.loads cimport Load
from balancer.picking.members cimport Member, Pick
from balancer.proxy cimport timing
from balancer.proxy.account cimport Account
from balancer.proxy.bodies cimport KeptBody
from balancer.proxy.context cimport RequestContext
from balancer.proxy.exchange cimport Exchange
from balancer.proxy.exchange_owner cimport ExchangeOwner
from balancer.proxy.forwarder cimport Forwarder
from balancer.proxy.retries cimport keeps_body


cdef class Attempts(ExchangeOwner):
    cdef public double _attempt_started
    cdef public Destination _destination
    cdef public object _handshake, _intercepts
    cdef public Pick _chosen
    cdef public RequestContext _context
    cdef public Forwarder _forwarder
    cdef public bint _http2, _is_retry, _was_repeated
    cdef public Picker _picker
    cdef public tuple _route_editors, _tried
    cdef public BackendRuntime _runtime
    @cython.locals(runtime=BackendRuntime, load=Load, policy=RoutePolicyLayout)
    @cython.locals(budget=RetryBudget, balancer=Balancer, picker=Picker, pick=Pick)
    cpdef begin(self, RequestContext context, Outgoing outgoing, Destination to, double now, kept=*, intercepts=*)
    @cython.locals(request=RequestHeadLayout, policy=RoutePolicyLayout)
    cdef bint _may_repeat_body(self) except -1
    @cython.locals(context=RequestContext, account=Account, member=Member, method=bytes, pool=Pool, stream=EndpointStream)
    @cython.locals(exchange=Exchange)
    cdef _attempt(self, Pick pick, double now)
    cdef _hold_client(self)
    @cython.locals(account=Account, pick=Pick, runtime=BackendRuntime, started=double, until=double, seconds=double)
    cdef _attempted(self, error, double now, double answered_at)
    cdef _end_forwarding(self, error)
