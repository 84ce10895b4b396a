from balancer.matching.served cimport Match
from balancer.proxy.holding cimport Holding


cdef class Answering(Holding):
    cdef public Match match
    cdef public long page_status
    cpdef end(self)
