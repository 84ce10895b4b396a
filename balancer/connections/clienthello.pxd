cimport cython

cdef Py_ssize_t _HEADER_BYTES
cdef Py_ssize_t _RECORD_BYTES_MAX
cdef Py_ssize_t _HANDSHAKE
cdef Py_ssize_t _CLIENT_HELLO
cdef Py_ssize_t _SERVER_NAME
cdef Py_ssize_t _HOST_NAME
cdef Py_ssize_t _ALPN
cdef Py_ssize_t _SESSION_ID_AT


@cython.locals(needed=Py_ssize_t)
cpdef read_hello(bytes data)
@cython.locals(message=bytes, at=Py_ssize_t, end=Py_ssize_t)
cdef _read_spread(bytes data)
@cython.locals(at=Py_ssize_t, end=Py_ssize_t, kind=Py_ssize_t, size=Py_ssize_t, protocols=tuple)
cdef _read(Py_ssize_t needed, bytes message)
@cython.locals(at=Py_ssize_t)
cdef Py_ssize_t _first_extension(bytes message) except -1
@cython.locals(name=bytes)
cdef _host_name(bytes extension)
@cython.locals(at=Py_ssize_t, size=Py_ssize_t, protocols=list)
cdef tuple _offered(bytes extension)
