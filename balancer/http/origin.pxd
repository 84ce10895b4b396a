from balancer.http.memos cimport Remembering


cdef class Origin(Remembering):
    cdef public bytes forwarded_for, host, scheme
    cdef public bint https, is_trusted
    cdef public str peer, server_name
    cdef public object entry_point, port, proof
