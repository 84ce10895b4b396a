cimport cython

from balancer.http.messages cimport Written


cdef class ResponseReader:
    cdef public object _known
    cdef public tuple _known_fields
    cdef public bint _known_ends, _known_is_to_head
    @cython.locals(is_to_head=bint)
    cpdef read(self, tuple fields, bytes method, bint ends)


@cython.locals(written=Written)
cpdef tuple client_fields(head, edit)
