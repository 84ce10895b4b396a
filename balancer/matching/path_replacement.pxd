cimport cython

from balancer.http.layouts cimport RequestHeadLayout
from balancer.http.streams cimport Outgoing


cdef class PathReplacer:
    cdef public bytes _path, _prefix
    cdef public tuple added
    @cython.locals(prefix=bytes, target=bytes, rest=bytes)
    cpdef bytes replaced(self, RequestHeadLayout request)
    cpdef rewrite(self, Outgoing outgoing, tuple captures)
    cpdef rewritten(self, request, peer, captures)
