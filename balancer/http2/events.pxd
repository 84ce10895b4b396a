cimport cython


@cython.locals(event=tuple, pieces=list)
cpdef tuple joined(list events, Py_ssize_t at)
