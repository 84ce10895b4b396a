from balancer.logs.accesslines cimport JsonLine


cdef class AccessLog:
    cdef public int _descriptor
    cdef public object _flushing, _line_of, _loop, _on_dropped, _rest, _shares, format
    cdef public list _lines
    cdef public Py_ssize_t _bound_bytes, _pending_bytes
    cdef public bint enabled
    cdef public JsonLine json_line
    cpdef write(self, record, line_of=*)
    cpdef write_line(self, bytes line, str namespace=*)
