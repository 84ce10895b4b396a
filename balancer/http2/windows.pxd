cimport cython

from balancer.http2.engine cimport Engine


cdef class Windows:
    cdef public Engine _engine
    cdef public dict _waiting
    cdef public list _wrote
    cdef public bint has_room
    cpdef bint is_watching(self)
    cpdef wrote(self, stream)
    cpdef forget(self, stream)
    cpdef clear(self)
    @cython.locals(wrote=list, fresh=list, freed=list)
    cpdef tuple sort(self, bint is_stuck)
