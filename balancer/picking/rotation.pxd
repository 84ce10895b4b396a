cdef class Rotation:
    cdef public tuple _items
    cdef public Py_ssize_t _position
    cpdef next(self)
