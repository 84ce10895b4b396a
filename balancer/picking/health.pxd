from balancer.picking.endpoint_health cimport EndpointHealth


cdef class BackendHealth:
    cdef public set _endpoints, impaired
    cdef public object _witness, _rules
    cdef public Py_ssize_t version
    cpdef report(self, EndpointHealth endpoint, outcome, double now, bint probe=*, asker=*)
