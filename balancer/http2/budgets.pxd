from balancer.http2.frames cimport Frames


cdef class Budgets:
    cdef public list _before
    cdef public bint _is_server, is_spent
    cdef public object _limits
    cdef public long long _empty, _errors_before, _opened_before, _ours_before, _resets, _unheard_most
    cdef public long long errors, heard, opened, ours
    cdef public double until
    cpdef str overdrawn(self, Frames frames, bytes data, double now)
    cdef _renew(self, Frames frames, double now)
    cpdef count_empty(self)
    cpdef count_reset(self)
    cpdef count_error(self, code)
    cdef _breach(self, Frames frames)
    cpdef str breach_of_streams(self, Frames frames)
