from balancer.runtime cimport calls


cdef class AcceptedSocket:
    cdef public object _whole
    cdef public int _descriptor, _family
    cpdef int fileno(self)
    cpdef whole(self)
    cpdef close(self)


cpdef whole(connection)
