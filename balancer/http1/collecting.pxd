cimport cython


cdef class HeadCollector:
    cdef public Py_ssize_t _empty_lines, _head_limit, _line_limit, _scanned
    cdef public object _first_line
    cdef public list _lines
    cdef public bytes _opening, pending
    cpdef add(self, bytes data)
    cpdef bytes take_rest(self)
    cpdef bytes take_head(self)
    cpdef list take_lines(self)
    @cython.locals(head_bytes=Py_ssize_t, line=bytes, lines=list)
    cpdef bint _is_suspicious(self, bytes head) except -1
    cpdef bytes _skip_empty_lines(self)
    cpdef bint _first_line_too_long(self, bytes head) except -1
    cpdef bint _has_opening(self, bytes buffer) except -1
    cpdef bint _has_first_line(self, bytes buffer) except -1
    cpdef _check_unfinished(self, bytes buffer)
