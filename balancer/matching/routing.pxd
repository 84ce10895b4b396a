cimport cython

from balancer.model.layouts cimport RouteLayout


cdef class Match:
    cdef public tuple captures
    cdef public Served served


cdef class Served:
    cdef public object closed_as, junction, mirroring, rewriting, stand_ins
    cdef public RouteLayout route
    cdef public bytes connection, host
    cdef public tuple editors, plain_gates, secure_gates
    cdef public bint closed, is_plain


cdef class _Prefix:
    cdef public Match plain, slashed


cdef class _Table:
    cdef public object host
    cpdef Match match(self, bytes path, bytes target)


cdef class _HostTable(_Table):
    cdef public Match _default
    cdef public Py_ssize_t _depth
    cdef public dict _exact, _prefixes
    @cython.locals(prefix=_Prefix, elements=bytes)
    cpdef Match match(self, bytes path, bytes target)


cdef class _CarefulTable(_Table):
    cdef public bint _compares
    cdef public object _parameters
    cdef public _Table _routes
    @cython.locals(size=Py_ssize_t, routes=_Table)
    cpdef Match match(self, bytes path, bytes target)
    @cython.locals(routes=_Table, match=Match, other=Match)
    cpdef Match _compared(self, bytes path, bytes target)


cdef class _Empty(_Table):
    cdef public Match _default
    cpdef Match match(self, bytes path, bytes target)


cdef class _Falling(_Table):
    cdef public Match _default
    cdef public tuple _tables
    @cython.locals(table=_Table, match=Match)
    cpdef Match match(self, bytes path, bytes target)


cdef class RouteTable:
    cdef public dict _by_key, _exact, _wildcards
    cdef public _Table _catch_all
    cdef public Match _default
    cdef public bint _is_many
    cdef public Py_ssize_t _labels
    cdef public object content
    cdef public tuple unmatched_gates
    @cython.locals(table=_Table)
    cpdef Match match(self, bytes host, bytes path, bytes target=*)
    cdef _Table _table(self, bytes host)
    @cython.locals(table=_Table)
    cdef _Table _wildcard(self, bytes host)
    @cython.locals(labels=list, suffix=bytes, table=_Table)
    cdef _Table _long_wildcard(self, bytes host)
