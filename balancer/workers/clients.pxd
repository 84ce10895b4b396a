cimport cython

from balancer.connections.places cimport ClientPlaces


cdef class Clients:
    cdef public object _leaving, _loop, _nobody_left, places
    cdef public set _present
    cdef public double _idle_grace_seconds
    cpdef enter(self, client)
    @cython.locals(places=ClientPlaces)
    cpdef has_ended(self, client)
