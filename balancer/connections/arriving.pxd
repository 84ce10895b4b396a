cimport cython

from balancer.connections.handshaking cimport UnfinishedHandshakes
from balancer.connections.places cimport ClientPlaces


cdef class ArrivingConnections:
    cdef public object _note
    cdef public set members
    cdef public ClientPlaces _places
    @cython.locals(places=ClientPlaces)
    cpdef enter(self, member, bytes client, UnfinishedHandshakes bound=*, Py_ssize_t chain_bytes=*)
    @cython.locals(places=ClientPlaces)
    cpdef leave(self, member, UnfinishedHandshakes bound=*)
