cdef class JsonLine:
    cdef public long _millisecond, _second
    cdef public str _start, _start_of_second
    cpdef str start(self, double epoch_seconds)
    cdef _follow(self, long millisecond)
