cdef class Pulse:
    cdef public double _heard_at, ping_after_seconds, ping_answer_seconds, silent_seconds
    cdef public bint is_asked
    cpdef heard(self, double now)
    cpdef bint is_gone(self, double began_at, double now, absences) except -1
