cdef class Origin:
    cdef public tuple fields
    cdef public bytes forwarded_for, host, scheme, written
    cdef public bint https, is_trusted
    cdef public str peer, server_name
    cdef public object entry_point, port, proof
