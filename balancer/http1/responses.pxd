from balancer.http1.heads cimport Tokens


cdef class ResponseHeadReader:
    cdef public object _known
    cdef public bytes _known_head
    cdef public bint _known_is_to_head
    cdef public Tokens _tokens
    cpdef tuple recognise(self, bytes data, bytes request_method)
    cpdef read(self, bytes head, bytes request_method)
