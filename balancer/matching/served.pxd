from balancer.matching.destinations cimport Destination
from balancer.model.layouts cimport RouteLayout


cdef class Match:
    cdef public tuple captures
    cdef public Served served


cdef class Served:
    cdef public object apart, junction, mirroring, rewriting, stand_ins
    cdef public Destination main
    cdef public RouteLayout route
    cdef public bytes connection, host
    cdef public tuple editors, mirrors, plain_gates, secure_gates
    cdef public bint is_copied, is_straight
