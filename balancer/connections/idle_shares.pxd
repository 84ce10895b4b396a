cimport cython


cdef class IdleShare:
    cdef public Py_ssize_t count
    cdef public str namespace
    cdef public dict pools
    cpdef bint end_one(self) except *


cdef class IdleShares:
    cdef public dict _shares
    cdef public Py_ssize_t peak
    cpdef IdleShare join(self, str namespace, pool)
    cpdef leave(self, IdleShare share, pool)
    @cython.locals(count=Py_ssize_t)
    cpdef add(self, IdleShare share)
    @cython.locals(count=Py_ssize_t, largest=IdleShare, each=IdleShare)
    cpdef bint makes_room(self, IdleShare share) except *
