cimport cython

from balancer.http cimport calls

cdef bytes _END
cdef bytes _LINE_END


@cython.locals(alike=Py_ssize_t, before=Py_ssize_t, behind=Py_ssize_t, first=Py_ssize_t, last=Py_ssize_t)
@cython.locals(rest=Py_ssize_t, shorter=Py_ssize_t, text="const char*", lines=bytes)
cpdef tuple differing_lines(bytes known, bytes data, Py_ssize_t start)
