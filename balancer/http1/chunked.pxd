cdef class ChunkedDecoder:
    cdef public Py_ssize_t _extension_bytes, _trailer_bytes
    cdef public object _kind
    cdef public long long _left
    cdef public bytes _line
    cdef public int _state
    cdef public list _trailers
    cpdef tuple feed(self, bytes data)
    cpdef Py_ssize_t _take_line(self, bytes data, Py_ssize_t position) except -1
    cpdef _act_on_line(self, bytes line)
    cpdef _start_chunk(self, bytes line)
    cpdef _add_trailer(self, bytes line)


cpdef bytes encode_chunk(bytes data)
cpdef bytes encode_last_chunk(tuple trailers)
cpdef Py_ssize_t _take_plain_chunks(bytes data, Py_ssize_t position, list pieces) except -1
