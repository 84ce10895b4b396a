from balancer.proxy.serving cimport Proxy
from balancer.workers.clients cimport Clients


cdef class HandingOver:
    cdef public Clients _keeper
    cdef public Proxy _proxy
    cdef public object _has_ended, _live, _relays
    cdef public bint is_draining
    cpdef take(self, client)
