from balancer.http1.request_stream cimport Carrier


cdef class Inflow(Carrier):
    cdef public object _transport
    cdef public bint _held, _put_off, _reading_paused
    cpdef _read_or_not(self)
