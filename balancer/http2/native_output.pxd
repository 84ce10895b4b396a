# One buffer for all connections: it is filled and handed on in one call.

from cpython.object cimport PyObject
from libc.stdint cimport uint8_t

cdef struct Held:
    PyObject *object
    size_t size
    size_t used

cdef int append(const uint8_t *data, size_t size) except -1
cdef char *extend(size_t size) except NULL
cdef bytes taken()
cdef size_t used() noexcept
cdef Held set_aside() noexcept
cdef void bring_back(Held held) noexcept
