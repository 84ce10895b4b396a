cimport cython

from balancer.http.layouts cimport RequestHeadLayout
from balancer.matching.destinations cimport Destination
from balancer.picking.members cimport Pick


@cython.freelist(32)
cdef class Account:
    cdef public str client
    cdef public object endpoint_seconds, endpoint_status, error, grpc_status, refusal, span
    cdef public RequestHeadLayout request
    cdef public Destination destination
    cdef public tuple failed_attempts, tried
    cdef public Pick pick
    cdef public bytes request_id
    cdef public long status
    cdef public Py_ssize_t request_bytes, response_bytes
    cdef public double pause_seconds, started
    cpdef forget_attempt(self)


@cython.locals(at=Py_ssize_t, digits=bytes, text="const char*")
cpdef bytes new_request_id()
