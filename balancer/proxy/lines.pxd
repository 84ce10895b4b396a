cimport cython

from balancer.picking.members cimport Pick, PickNote
from balancer.proxy.account cimport Account


cdef class Noted:
    cdef public str client, closing, host, opening, protocol, referer, trace_id, user_agent
    cdef public bint has_id
    cdef public bytes method, target
    cpdef open(self, str client, request)


cpdef Noted noted_of(request)
cpdef bint is_ordinary(Account account) except -1
@cython.locals(noted=Noted, note=PickNote, line=str, micros=long, endpoint_micros=long)
cpdef bytes ordinary_line(str start, Account account, Pick pick, double seconds)
@cython.locals(note=PickNote)
cpdef note_names(Account account, Pick pick)
cdef str _quoted(str text)
cdef str _inside(str text)
