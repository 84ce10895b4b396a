cimport cython

from balancer.picking.members cimport PickNote
from balancer.proxy.account cimport Account


cdef class Noted:
    cdef public str client, closing, host, opening, protocol, referer, trace_id, user_agent
    cdef public bytes method, target
    cpdef open(self, str client, request)


cpdef Noted noted_of(request)
cpdef bint is_ordinary(Account account) except -1
@cython.locals(noted=Noted, line=str, micros=long, endpoint_micros=long)
cpdef bytes ordinary_line(str start, Account account, PickNote note, double seconds)
cpdef note_names(PickNote note, Account account)
cdef str _id(Account account, request)
cdef str _quoted(str text)
