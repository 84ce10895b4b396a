cimport cython

from balancer.http.layouts cimport RequestHeadLayout
from balancer.matching.host_tables cimport HostTable
from balancer.matching.served cimport Match


cdef class CarefulTable(HostTable):
    cdef public bint _compares
    cdef public Py_ssize_t _most
    cdef public object _parameters
    cdef public HostTable routes
    @cython.locals(size=Py_ssize_t, routes=HostTable, is_plain=bint)
    cpdef Match match(self, bytes path, bytes target, RequestHeadLayout request=*)
    @cython.locals(routes=HostTable, match=Match, other=Match)
    cpdef Match _compared(self, bytes path, bytes target, RequestHeadLayout request)
