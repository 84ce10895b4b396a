cimport cython

from balancer.http1.fieldlines cimport FieldLine

cdef int LOGGED
cdef int PASSES
cdef int SPECIAL


cdef class LinePlace:
    cdef public Py_ssize_t field, number, onward_rest, rest, start


@cython.locals(count=Py_ssize_t, number=Py_ssize_t, line=FieldLine, other=FieldLine)
cpdef bint have_other_values(list others, list lines, Py_ssize_t start, Py_ssize_t stop) except -1
@cython.locals(place=Py_ssize_t, number=Py_ssize_t, line=FieldLine, changed=list)
cpdef tuple fields_with(list others, tuple fields, list lines, Py_ssize_t start)
@cython.locals(stop=Py_ssize_t, number=Py_ssize_t, end=Py_ssize_t, before=Py_ssize_t, line=FieldLine, text="const char*", pieces=list)
cpdef bytes onward_with(list others, bytes onward, list lines, Py_ssize_t start)
