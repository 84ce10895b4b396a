cimport cython


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
