cimport cython

from balancer.http.layouts cimport RequestHeadLayout
from balancer.http.messages cimport field_value


@cython.locals(kind=bytes)
cpdef bint is_call(tuple fields) except -1
cpdef bint is_call_in_http2(RequestHeadLayout request) except -1
@cython.locals(value=bytes)
cpdef status_in(tuple fields)
@cython.locals(value=bytes)
cpdef timeout_seconds(tuple fields)
