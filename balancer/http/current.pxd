cdef class CurrentSettings:
    cdef public object proxy
