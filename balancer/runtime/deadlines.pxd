cimport cython


cdef class Alarm:
    cdef public Deadlines _deadlines
    cdef public object _time, owner, place
    cdef public double _look_at, _seconds, deadline, limit, next_look
    @cython.locals(deadline=double)
    cpdef set(self, double seconds)
    @cython.locals(deadline=double)
    cpdef set_looking(self, double seconds)
    @cython.locals(deadline=double)
    cpdef look_sooner(self, double seconds)
    cpdef limit_to(self, double seconds)
    cpdef unlimit(self)
    cpdef double left(self) except? -1
    cpdef clear(self)
    cpdef expire(self)


cdef class Deadlines:
    cdef public object _due, _handle, absences, loop, now
    cdef public double _turned_at
    cdef public dict _slots
    cdef public long _tick
    cpdef arm(self, watched, double deadline)
    cpdef stop(self)
    cpdef insert(self, watched)
    cpdef forget(self, watched)
    cpdef bint _has_expired(self, watched, double now) except -1
