cimport cython


cdef class OutgoingBody:
    cdef public Py_ssize_t _at, size
    cdef public bint ends
    cdef public object pieces, trailers
    cpdef add(self, bytes data, bint ends)
    @cython.locals(piece=bytes, end=Py_ssize_t, at=Py_ssize_t, taken=bytes)
    cpdef bytes take(self, Py_ssize_t most)


cdef class OutgoingBodies:
    cdef public dict _waiting
    cpdef wait(self, long stream, OutgoingBody body)
    cpdef forget(self, long stream)
    cpdef clear(self)
