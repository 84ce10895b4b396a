cimport cython
from cpython cimport time

from balancer.http.layouts cimport RequestHeadLayout
from balancer.http.memos cimport Memo
from balancer.logs cimport calls
from balancer.logs.accesslines cimport JsonLine
from balancer.matching.destinations cimport Destination, DestinationNote
from balancer.picking.members cimport Pick, PickNote
from balancer.proxy.account cimport Account


cdef long _SECOND


cdef class Noted(Memo):
    cdef public str client, closing, host, opening, protocol, referer, trace_id, user_agent
    cdef public bint has_id
    cdef public bytes method, target
    cpdef open(self, str client, RequestHeadLayout request)


@cython.locals(pick=Pick, note=PickNote, line=bytes, noted=Noted, request=RequestHeadLayout, head_bytes=Py_ssize_t, micros=long, endpoint_micros=long)
cpdef bytes ordinary_line(JsonLine json, Account account, double seconds)
@cython.locals(named=DestinationNote)
cdef bint _compose(PickNote note, Destination to) except -1
@cython.locals(pick=Pick, to=Destination)
cdef bytes _first_line(JsonLine json, Account account, double seconds)
cdef _keep_parts(str line, PickNote note, DestinationNote named)
@cython.locals(to=Destination)
cpdef names_of(Account account)
cpdef Noted noted_of(RequestHeadLayout request)
cdef bytes _inside(bytes value)
