from balancer.picking.endpoint_health cimport EndpointHealth


cdef class Member:
    cdef public object endpoint, latency, pool
    cdef public str label, namespace
    cdef public tuple label_alone
    cdef public EndpointHealth health
    cdef public Py_ssize_t in_flight
    cdef public bint is_silent
    cdef public double asked_at


cdef class PickNote:
    cdef public object destination
    cdef public long status
    cdef public str from_zone, names, rest, way
    cdef public tuple slots


cdef class Pick:
    cdef public Member member
    cdef public object endpoint, foretold, locality, observer, reason, tariff
    cdef public str to_zone
    cdef public bint probe
    cdef public PickNote note
    cpdef Pick for_reason(self, reason)
    cpdef Pick as_probe(self)
    cpdef Pick foretelling(self, foretold)
    cdef Pick _copy(self)
