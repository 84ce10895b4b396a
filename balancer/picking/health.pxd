from balancer.picking.evidence cimport Experience


cdef class EndpointHealth(Experience):
    cdef public object ejected_until, told, why
    cdef public double probe_until, returned_at, row_began_at, stepped_at, suspected_until
    cdef public Py_ssize_t doubted_answers, ejections, failed_checks, failures, row_began, suspected_answers
    cdef public bint fails_checks


cdef class BackendHealth:
    cdef public set _endpoints, impaired
    cdef public object _witness, _rules
    cdef public Py_ssize_t version
    cpdef report(self, EndpointHealth endpoint, outcome, double now, bint probe=*, asker=*)
