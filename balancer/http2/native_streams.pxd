cimport cython

cdef enum:
    OPEN = 0  # the states of a stream, as in `ngh2_engine`
    ANSWERED = 1
    BEGUN = 2
    SHARING = 3
    BROKEN = 4


@cython.final
@cython.freelist(64)
cdef class Stream:
    cdef int state
    cdef bint is_answered, has_body, ends, is_deferred
    cdef bytes first  # the first piece of the body that was not framed yet; its beginning may have been
    cdef object rest  # further pieces, None until there are some
    cdef Py_ssize_t at, size, owed
    cdef tuple trailers
    cdef int add(self, bytes data) except -1
    cdef int copy(self, char *to, Py_ssize_t most) except -1
    cdef int drop(self) except -1


@cython.final
cdef class Streams:
    cdef dict _by_number, _left
    cdef long _recent_number
    cdef Stream _recent
    cdef Stream begin(self, long number)
    cdef Stream find(self, long number)
    cdef Stream end(self, long number)
    cdef int came(self, long number, Py_ssize_t size) except -1
    cdef Py_ssize_t left(self, long number) except -1
    cdef int leave(self, long number, Py_ssize_t size) except -1
    cdef int drop_bodies(self) except -1
