cdef class RetryBudget:
    cdef public double _at, _saved
    cdef public Py_ssize_t requests, retries
    cpdef begin_request(self)
    cpdef end_request(self)
    cpdef begin_retry(self)
    cpdef end_retry(self)
