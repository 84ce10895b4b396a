cimport cython


cdef class UnfinishedHandshakes:
    cdef public dict _bytes, _clients, _held
    cdef public Py_ssize_t free
    @cython.locals(held=dict, size=Py_ssize_t, ended=list)
    cpdef list begin(self, handshake, bytes client, Py_ssize_t chain_bytes)
    @cython.locals(held=dict, size=Py_ssize_t)
    cpdef over(self, handshake)
