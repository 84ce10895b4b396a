from balancer.http1.fieldlines cimport FieldLines


cdef class ResponseHeadReader:
    cdef public object _known
    cdef public bytes _known_head
    cdef public bint _known_is_to_head
    cpdef tuple recognise(self, bytes data, bytes request_method)
    cpdef read(self, bytes head, bytes request_method)


cpdef _response(FieldLines found, int minor, int status, bytes reason, bytes request_method)
