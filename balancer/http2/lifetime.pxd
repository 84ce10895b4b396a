cdef class Lifetime:
    cdef public long long _head
    cdef public double _head_seconds, head_until, until
    cdef public int state
    cpdef begin(self, double now)
    cpdef bint moves(self, int event, double until) except -1
    cpdef bint notes_head(self, long long head, double now) except -1
