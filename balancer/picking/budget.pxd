cimport cython

cdef double _SAVED_MAX


cdef class RetryReserve:
    cdef public object _namespaces
    cdef public dict _backends
    cdef public double _until


cdef class RetryBudget:
    cdef public object _backend_key, _namespace
    cdef public double _saved
    cdef public bint earns
    cdef public Py_ssize_t retries
    @cython.locals(saved=double)
    cpdef begin_request(self)
    cpdef end_retry(self)
