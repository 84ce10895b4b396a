from balancer.http.memos cimport Memo, Remembering


cdef class Repeated(Remembering):
    cdef public tuple connection_options
    cdef public Memo logged
    cdef public object request_id


cdef class Written(Remembering):
    pass


cpdef bytes field_value(tuple fields, bytes name)
