cimport cython

cdef Py_ssize_t _FEW_BYTES


@cython.locals(few="const char*", memory=bytearray)
cpdef bytes taken(Py_ssize_t nbytes)

# No class here has attributes of its own, but what is called for each piece of bytes is compiled.
