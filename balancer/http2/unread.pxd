from balancer.http.current cimport CurrentSettings


cdef class Unread:
    cdef public CurrentSettings _settings
    cdef public dict _sizes
    cdef public bint is_much
    cdef public long long total
    cpdef note(self, connection, long long size)
