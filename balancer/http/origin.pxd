from balancer.http.memos cimport Remembering


cdef class Origin(Remembering):
    cdef public bytes forwarded_for, host, scheme
    cdef public bint https, is_trusted
    cdef public str peer
    cdef public object port, proof
