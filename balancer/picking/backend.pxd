cimport cython

from balancer.picking.balancers cimport Balancer
from balancer.picking.budget cimport RetryBudget
from balancer.picking.endpoint_health cimport EndpointHealth
from balancer.picking.health cimport BackendHealth
from balancer.picking.loads cimport Load
from balancer.picking.members cimport Pick


cdef class BackendRuntime:
    cdef public object _learner, _others, _standing, backend, evacuation, failing, handshake, members, plans, random_below, silence
    cdef public dict _balancers
    cdef public bint _unsettled, has_endpoints, http2
    cdef public BackendHealth health
    cdef public Load load
    cdef public RetryBudget budget
    cdef public Py_ssize_t requests_most
    cpdef Balancer balancer(self, policy=*, double now=*)
    @cython.locals(endpoint=EndpointHealth)
    cpdef report(self, Pick pick, outcome, double now, double seconds, asker=*)
