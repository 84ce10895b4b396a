cimport cython

from balancer.http cimport calls
from balancer.http1.fieldlines cimport FieldLines
from balancer.http1.layouts cimport Http1ResponseLayout


cdef class ResponseHeadReader:
    cdef public Http1ResponseLayout _known
    cdef public bytes _known_head
    cdef public bint _known_is_to_head
    cdef public Py_ssize_t known_bytes
    @cython.locals(known=Http1ResponseLayout, head=bytes)
    cpdef Http1ResponseLayout recognise(self, bytes data, bytes request_method)
    cpdef Http1ResponseLayout read(self, bytes head, bytes request_method, list lines=*)


cpdef Http1ResponseLayout _response(FieldLines found, int minor, int status, bytes reason, bytes request_method)
