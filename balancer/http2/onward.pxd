cimport cython

from balancer.http.layouts cimport RequestHeadLayout
from balancer.http.messages cimport Repeated
from balancer.http.origin cimport Origin
from balancer.http.streams cimport Outgoing


cdef class _Onward:
    cdef public tuple fields
    cdef public object passing


@cython.locals(request=RequestHeadLayout, origin=Origin, repeated=Repeated, method=bytes, fields=tuple)
cpdef tuple endpoint_request_fields(Outgoing outgoing, bint secure)
