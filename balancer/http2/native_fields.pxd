cimport cython
from libc.stdint cimport uint8_t

from balancer.http2.nghttp2 cimport NameValue

cdef NameValue *block

cdef Py_ssize_t put(tuple fields, bint is_head) except -1


@cython.final
cdef class FieldBlock:
    cdef list _fields
    cdef tuple _alike, _head, _tail
    cdef Py_ssize_t _count, _count_most
    cdef size_t _bytes, _bytes_most
    cdef bint _is_head
    cdef str wrong
    cdef int begin(self, bint is_head) except -1
    cdef bint add(
        self, const uint8_t *name, size_t name_size, const uint8_t *value, size_t value_size, bint is_secret
    ) except -1
    cdef tuple end(self)
