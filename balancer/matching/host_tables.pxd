cimport cython

from balancer.matching.served cimport Match


cdef class _Prefix:
    cdef public Match plain, slashed


cdef class HostTable:
    cdef public object host
    cpdef Match match(self, bytes path, bytes target)


cdef class PathTable(HostTable):
    cdef public Match _default
    cdef public Py_ssize_t _depth
    cdef public dict _exact, _prefixes
    @cython.locals(prefix=_Prefix, elements=bytes)
    cpdef Match match(self, bytes path, bytes target)


cdef class CarefulTable(HostTable):
    cdef public bint _compares
    cdef public object _parameters
    cdef public HostTable _routes
    @cython.locals(size=Py_ssize_t, routes=HostTable)
    cpdef Match match(self, bytes path, bytes target)
    @cython.locals(routes=HostTable, match=Match, other=Match)
    cpdef Match _compared(self, bytes path, bytes target)
