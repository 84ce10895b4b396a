from balancer.model.layouts cimport RouteLayout, RoutePolicyLayout


cdef class PathCount:
    cdef public str host_name
    cdef public Py_ssize_t slot


cdef class DestinationNote:
    cdef public str from_zone, names, port, to_zone
    cdef public object locality, reason
    cdef public long status
    cdef public tuple slots


cdef class Destination:
    cdef public object backend, branch, hash_text, names, request_editor, stickiness, zone_policy
    cdef public bint is_bounded, is_edited, is_held
    cdef public tuple editors
    cdef public RoutePolicyLayout policy
    cdef public RouteLayout route
    cdef public Py_ssize_t subset
    cdef public str tenant
    cdef public PathCount count
    cdef public DestinationNote note
