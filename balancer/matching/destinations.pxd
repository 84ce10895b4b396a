from balancer.model.layouts cimport RouteLayout, RoutePolicyLayout


cdef class Destination:
    cdef public object backend, branch, error, hash_text, names, request_editor, stickiness, zone_policy
    cdef public bint is_bounded, is_edited, is_held
    cdef public tuple editors
    cdef public RoutePolicyLayout policy
    cdef public RouteLayout route
    cdef public Py_ssize_t counted_at, subset
    cdef public str host_name, tenant
