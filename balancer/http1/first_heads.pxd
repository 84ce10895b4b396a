cimport cython


cdef class FirstHeads:
    cdef public dict _read
    @cython.locals(read=tuple)
    cpdef tuple find(self, bytes data, settings)
    cpdef remember(self, bytes head, settings, request, bint keep_alive)
