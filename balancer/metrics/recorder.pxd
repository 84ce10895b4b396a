cimport cython

cdef Py_ssize_t _SUM
cdef double _FIRST
cdef double _SECOND
cdef double _THIRD
cdef double _FOURTH
cdef double _FIFTH
cdef double _SIXTH


cdef class Recorder:
    cdef public dict _exchanges, _hook_times, _refusals, _single
    cdef public object _table
    cdef double[::1] _values
    cdef public Py_ssize_t _access_log_dropped, _worker_restarts
    cpdef tuple known(self, tuple labels)
    cpdef grpc(self, str namespace, str ingress, str service, long status)
    cpdef _count(self, definition, tuple labels, double amount=*)
    @cython.locals(requests=Py_ssize_t, responses=Py_ssize_t, duration=Py_ssize_t, decisions=Py_ssize_t)
    @cython.locals(endpoint_duration=Py_ssize_t, sent=Py_ssize_t, received=Py_ssize_t, cost=Py_ssize_t, blind_cost=Py_ssize_t, route=Py_ssize_t)
    cpdef exchange(self, tuple slots, double seconds, double endpoint_seconds, double request_bytes, double response_bytes, double dollars, double blind_dollars)


cpdef Py_ssize_t _bucket_of(double seconds) except -1
