cimport cython

from balancer.http.layouts cimport RequestHeadLayout
from balancer.matching.choices cimport RequestFacts, RouteChoice
from balancer.matching.host_tables cimport HostTable
from balancer.matching.served cimport Match


cdef class ChoiceTable(HostTable):
    cdef public Match _default
    cdef public Py_ssize_t _depth
    cdef public dict _below, _exact, _whole
    cdef public object _expressions
    @cython.locals(facts=RequestFacts, found=Match)
    cpdef Match match(self, bytes path, bytes target, RequestHeadLayout request=*)
    @cython.locals(choice=RouteChoice)
    cdef Match _at(self, dict places, bytes path, RequestFacts facts)
    @cython.locals(found=Match, elements=bytes)
    cdef Match _shorter(self, bytes path, RequestFacts facts)
