cimport cython

from balancer.http.layouts cimport RequestHeadLayout
from balancer.http2.fields cimport check_fields


cdef class RequestReader:
    cdef public Py_ssize_t _field_bytes, _fields_max, _list_bytes, _path_at, _remembered_most
    cdef public RequestHeadLayout _known
    cdef public bint _known_ends
    cdef public tuple _known_fields
    @cython.locals(known=RequestHeadLayout, known_fields=tuple, target=bytes, path=bytes, at=Py_ssize_t)
    cpdef RequestHeadLayout read(self, tuple fields, bint ends)
    @cython.locals(list_bytes=Py_ssize_t, raw_target=bytes)
    cdef RequestHeadLayout _read(self, tuple fields, bint ends)
    cdef Py_ssize_t _check_limits(self, tuple fields, tuple rest, bytes target) except -1


cdef RequestHeadLayout _like(RequestHeadLayout known, bytes path, bytes target)
