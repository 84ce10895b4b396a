from balancer.picking.evidence cimport Experience


cdef class TroubleRecord:
    cdef public object told, why
    cdef public double counted_until, probe_until, returned_at, row_began_at, stepped_at, suspected_until
    cdef public Py_ssize_t doubted_answers, ejections, failed_checks, failures, row_began, suspected_answers


cdef class EndpointHealth(Experience):
    cdef public object ejected_until
    cdef public bint fails_checks
    cdef public TroubleRecord trouble
    cpdef TroubleRecord record(self)
