cimport cython

from balancer.http.layouts cimport RequestHeadLayout
from balancer.matching.host_tables cimport HostTable
from balancer.matching.served cimport Match


cdef class Falling(HostTable):
    cdef public Match _default
    cdef public tuple _tables
    @cython.locals(table=HostTable, match=Match)
    cpdef Match match(self, bytes path, bytes target, RequestHeadLayout request=*)
