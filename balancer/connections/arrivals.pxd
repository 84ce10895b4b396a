cdef class Arrival:
    cdef public object arriving, entry_point, port
    cdef public str peer, server_name
