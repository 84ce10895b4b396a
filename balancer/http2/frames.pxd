cimport cython

cdef int _DATA
cdef int _END_HEADERS
cdef int _HEADERS
cdef int _HEAD_BYTES


cdef class Frames:
    cdef public Py_ssize_t _ahead, _block, _pieces, block_bytes, continuations
    cdef public bytes _begun
    cdef public int _cut_kind
    cdef public long long amid_head, rare
    cdef public bint block_is_open
    cdef public list counts
    @cython.locals(at=Py_ssize_t, end=Py_ssize_t, size=Py_ssize_t, kind=cython.int, flags=cython.int)
    @cython.locals(heads=Py_ssize_t, bodies=Py_ssize_t, octets="const unsigned char*")
    cpdef walk(self, bytes data)
    cdef _count(self, Py_ssize_t heads, Py_ssize_t bodies)
    cdef _take_rare(self, int kind, int flags, Py_ssize_t size)
    cdef _place(self, int kind)
    cdef _continue(self, int flags, Py_ssize_t size)
