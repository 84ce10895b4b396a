from balancer.matching.destinations cimport Destination
from balancer.picking.backend cimport BackendRuntime
from balancer.picking.balancers cimport Picker
from balancer.picking.members cimport Pick
from balancer.proxy.exchange cimport ExchangeOwner
from balancer.proxy.forwarder cimport Forwarder


cdef class Succession(ExchangeOwner):
    cdef public object _handshake, _intercepts
    cdef public Pick _chosen
    cdef public Picker _picker
    cdef public Destination _destination
    cdef public BackendRuntime _runtime
    cdef public tuple _tried
    cdef public Forwarder forwarder
