cdef Py_ssize_t _DROPPED_AT_ONCE


cdef class TlsSession:
    cdef public object incoming, outgoing, pending, put, read, ssl_object, take, write
    cpdef bint shake(self) except -1
    cpdef bint drop_input(self) except -1
    cpdef bint say_goodbye(self) except -1
