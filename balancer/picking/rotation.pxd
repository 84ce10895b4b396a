cimport cython


cdef class Rotation:
    cdef public tuple _items
    cdef public Py_ssize_t _position
    @cython.locals(items=tuple, position=Py_ssize_t)
    cpdef next(self)
