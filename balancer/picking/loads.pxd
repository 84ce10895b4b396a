cdef class Load:
    cdef public Py_ssize_t in_flight
