cdef class EndpointHealth:
    cdef public object ejected_until
    cdef public double probe_until, returned_at
    cdef public Py_ssize_t ejections, failed_checks, failures
    cdef public bint fails_checks


cdef class BackendHealth:
    cdef public set _endpoints, impaired
    cdef public object _rules
    cdef public Py_ssize_t version
    cpdef report(self, EndpointHealth endpoint, outcome, double now, bint probe=*)


cpdef outcome_of(error, long status, grpc_status=*)
