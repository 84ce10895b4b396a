cimport cython

from balancer.http.layouts cimport RequestHeadLayout
from balancer.matching.served cimport Match


cdef class RequestFacts:
    cdef public dict _query
    cdef public RequestHeadLayout request
    cdef public object searches
    cpdef dict fields(self, frozenset names)


cdef class Candidate:
    cdef public dict _fields, _query
    cdef public tuple _searched, pairs, wanted
    cdef public bytes _method
    cdef public bint is_plain
    cdef public Match match
    cdef public frozenset names
    cpdef bint holds(self, RequestFacts facts, dict fields) except -1


cdef class ValueTable:
    cdef public dict _matches
    cdef public object _read
    cdef public Match _otherwise
    cpdef Match match(self, dict values)


cdef class RouteChoice:
    cdef public tuple _asked, _candidates
    cdef public ValueTable _values
    cdef public dict _by_field, _by_query
    cdef public frozenset _names
    cdef public Match only
    @cython.locals(candidate=Candidate, values=ValueTable)
    cpdef Match match(self, RequestFacts facts)
