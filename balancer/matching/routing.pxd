cimport cython

from balancer.http.layouts cimport RequestHeadLayout
from balancer.matching.host_tables cimport HostTable
from balancer.matching.served cimport Match


cdef class _Empty(HostTable):
    cdef public Match _default
    cpdef Match match(self, bytes path, bytes target, RequestHeadLayout request=*)


cdef class RouteTable:
    cdef public dict _by_listener, _cares, _exact, _policies, _wildcards
    cdef public HostTable _catch_all
    cdef public Match _default
    cdef public bint _is_many
    cdef public Py_ssize_t _labels
    cdef public object _listeners, content
    cdef public tuple unmatched_gates
    @cython.locals(table=HostTable)
    cpdef Match match(self, bytes host, bytes path, bytes target=*, RequestHeadLayout request=*)
    cdef HostTable _table(self, bytes host)
    @cython.locals(table=HostTable)
    cdef HostTable _wildcard(self, bytes host)
    @cython.locals(labels=list, suffix=bytes, table=HostTable)
    cdef HostTable _long_wildcard(self, bytes host)
