cimport cython

from balancer.http.layouts cimport RequestHeadLayout
from balancer.matching.host_tables cimport HostTable
from balancer.matching.served cimport Match


cdef class RouteTable:
    cdef public dict _by_name, _exact, _wildcards
    cdef public HostTable _catch_all
    cdef public Match _default
    cdef public tuple unmatched_gates
    @cython.locals(table=HostTable)
    cpdef Match match(self, bytes host, bytes path, bytes target=*, RequestHeadLayout request=*)
    cdef HostTable _table(self, bytes host)
    @cython.locals(table=HostTable)
    cdef HostTable _wildcard(self, bytes host)
