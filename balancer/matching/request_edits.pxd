cimport cython

from balancer.http.streams cimport Outgoing


cdef class RequestEditor:
    cdef public frozenset _dashed, names
    cdef public tuple added
    @cython.locals(names=frozenset)
    cpdef put_on(self, Outgoing outgoing)
