cimport cython

from balancer.http.layouts cimport RequestHeadLayout
from balancer.http1.fieldlines cimport FieldLines


cdef class HeadDraft:
    cdef public bytes authority, host_name, method, path, raw_target, target, upgrade
    cdef public tuple connection_options
    cdef public bint expects_continue, keep_alive
    cdef public long long framing
    cdef public int minor


cpdef repeat_request_line(RequestHeadLayout known, HeadDraft draft)
@cython.locals(path=bytes)
cpdef read_request_line(bytes line, HeadDraft draft)
cpdef bint is_ordinary(HeadDraft draft) except -1
@cython.locals(special=list)
cpdef apply_special(HeadDraft draft, FieldLines found, RequestHeadLayout known)
cpdef _apply_rare(HeadDraft draft, FieldLines found)
cpdef _apply_host(HeadDraft draft, bytes host, RequestHeadLayout known)
cpdef _apply_target(HeadDraft draft)
cpdef tuple options_in(list values)
