cimport cython


cdef class Frames:
    cdef public Py_ssize_t _ahead, _block, _pieces, block_bytes, continuations
    cdef public bytes _begun
    cdef public int _cut_kind
    cdef public long long amid_head
    cdef public bint block_is_open, has_rare
    cdef public list counts
    @cython.locals(at=Py_ssize_t, end=Py_ssize_t, size=Py_ssize_t, kind=cython.int, counts=list)
    cpdef walk(self, bytes data)
    cdef _place(self, int kind)
    cdef _continue(self, int flags, Py_ssize_t size)
