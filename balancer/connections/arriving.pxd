cimport cython

from balancer.connections.handshaking cimport UnfinishedHandshakes
from balancer.connections.places cimport ClientPlaces


cdef class ArrivingConnections:
    cdef public object _note
    cdef public set members
    cdef public ClientPlaces _places
    cpdef bint is_full(self, Py_ssize_t most) except -1
    @cython.locals(places=ClientPlaces)
    cpdef bint makes_room(self, bytes client, double now) except -1
    @cython.locals(places=ClientPlaces)
    cpdef bint moves(self, member, bytes client, Py_ssize_t most, double now) except -1
    @cython.locals(places=ClientPlaces)
    cpdef enter(self, member, bytes client, UnfinishedHandshakes bound=*, Py_ssize_t chain_bytes=*)
    @cython.locals(places=ClientPlaces)
    cpdef leave(self, member, UnfinishedHandshakes bound=*)
    @cython.locals(places=ClientPlaces)
    cpdef hand_over(self, connection, bytes client)
