cimport cython

from balancer.runtime cimport calls
from balancer.runtime.accepted cimport AcceptedSocket

cdef Py_ssize_t _AT_ONCE
cdef Py_ssize_t _DEAR_AT_ONCE


cdef class _Entrance:
    cdef public object entry_point, listener
    cdef public int family
    cdef public bint was_used


cdef class _Waiting:
    cdef public object connection
    cdef public _Entrance entrance
    cdef public str peer
    cdef public double until


cdef class Entrances:
    cdef public dict _entrances, _entry_points
    cdef public object _loop, _note, _take, _timer, _waiting
    cdef public double _pause_seconds, _wait_seconds
    cdef public Py_ssize_t _waiting_most
    cdef public bytearray _room
    @cython.locals(accepted=list, room=bytearray, descriptor=int, family=int)
    cdef list _accepted(self, _Entrance entrance)
    cdef _pause(self, _Entrance entrance, int number)


cdef Py_ssize_t _most_at_once(entry_point) except -1
