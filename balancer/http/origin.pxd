cdef class Origin:
    cdef public tuple fields
    cdef public bytes forwarded_for, host, scheme, written
    cdef public bint https, is_trusted
    cdef public str peer
    cdef public object port, proof
