cimport cython

from balancer.http.layouts cimport RequestHeadLayout
from balancer.http1.fieldlines cimport FieldLines


cdef class Draft:
    cdef public bytes authority, host_name, method, path, raw_target, target, upgrade
    cdef public tuple connection_options
    cdef public bint expects_continue, keep_alive
    cdef public long long framing
    cdef public int minor


cpdef repeat_request_line(RequestHeadLayout known, Draft draft)
@cython.locals(path=bytes)
cpdef read_request_line(bytes line, Draft draft)
cpdef bint is_ordinary(Draft draft) except -1
@cython.locals(special=list)
cpdef apply_special(Draft draft, FieldLines found, RequestHeadLayout known)
cpdef _apply_rare(Draft draft, FieldLines found)
cpdef _apply_host(Draft draft, bytes host, RequestHeadLayout known)
cpdef _apply_target(Draft draft)
cpdef tuple options_in(list values)
