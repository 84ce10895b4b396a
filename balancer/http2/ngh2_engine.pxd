cimport cython

from balancer.http2.budgets cimport Budgets
from balancer.http2.engine cimport Engine
from balancer.http2.uploads cimport Uploads


cdef class Ngh2Engine(Engine):
    cdef public object _session
    cdef public list _events
    cdef public bint _is_known, _is_left, _is_server, _over
    cdef public long _last
    cdef public bytes _said
    cdef public dict _streams
    cdef public Uploads _uploads
    @cython.locals(budgets=Budgets)
    cpdef list receive(self, bytes data, double now)
    @cython.locals(said=bytes)
    cpdef bytes take_bytes(self, most=*)
    @cython.locals(events=list)
    cpdef list take_events(self)
    @cython.locals(budgets=Budgets)
    cpdef data(self, long stream, bytes data, bint ends)
    cdef _upload(self, long stream, state, bytes data, bint ends)
    @cython.locals(events=list, streams=dict, budgets=Budgets)
    cdef _translate(self, raw)
    @cython.locals(streams=dict, budgets=Budgets)
    cdef _close(self, stream, code)
