cimport cython


cdef class IdleShare:
    cdef public Py_ssize_t count, granted
    cdef public str namespace
    cdef public object empty, pools
    cpdef bint end_one(self) except *


cdef class IdleShares:
    cdef public Py_ssize_t _granted
    cdef public dict _shares
    cpdef IdleShare join(self, str namespace, pool)
    cpdef leave(self, IdleShare share, pool)
    @cython.locals(largest=IdleShare)
    cpdef bint grants(self, IdleShare share, Py_ssize_t most) except *
    @cython.locals(total=Py_ssize_t, share=IdleShare)
    cdef _take_back(self)
    cdef IdleShare _largest(self)
