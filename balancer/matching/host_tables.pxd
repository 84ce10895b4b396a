cimport cython

from balancer.http.layouts cimport RequestHeadLayout
from balancer.matching.served cimport Match


cdef class _Prefix:
    cdef public Match plain, slashed


cdef class HostTable:
    cdef public object host
    cpdef Match match(self, bytes path, bytes target, RequestHeadLayout request=*)


cdef class PathTable(HostTable):
    cdef public Match _all, _default
    cdef public Py_ssize_t _depth
    cdef public dict _exact, _prefixes
    @cython.locals(prefix=_Prefix, elements=bytes)
    cpdef Match match(self, bytes path, bytes target, RequestHeadLayout request=*)
