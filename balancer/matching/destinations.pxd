cimport cython

from balancer.http.streams cimport Outgoing
from balancer.matching.request_edits cimport RequestEditor
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
    cdef public object backend, branch, hash_text, names, stickiness, zone_policy
    cdef public bint is_bounded, is_edited, is_held
    cdef public tuple editors
    cdef public RequestEditor request_editor
    cdef public RoutePolicyLayout policy
    cdef public RouteLayout route
    cdef public Py_ssize_t subset
    cdef public str tenant
    cdef public PathCount count
    cdef public DestinationNote note
    @cython.locals(editor=RequestEditor)
    cpdef edit(self, Outgoing outgoing)
