cimport cython

from balancer.runtime cimport calls
from balancer.runtime.accepted cimport AcceptedSocket, whole
from balancer.runtime.outlets cimport Outlet, Outlets

cdef bytearray MEMORY
cdef Py_ssize_t _AGAIN
cdef Py_ssize_t _INTERRUPTED
cdef long _ENDS
cdef long _READABLE
cdef long _WRITABLE
cdef long _BROKEN
cdef long _INCOMING


cdef class TcpTransport(Outlet)


cdef class TcpTransports:
    cdef public object _epoll, _loop
    cdef public list _open
    cdef public Outlets _outlets
    cdef public bytearray _ready
    @cython.locals(opened=list, descriptor=int, transport=TcpTransport, outlets=Outlets)
    cpdef TcpTransport open(self, connection, protocol, Py_ssize_t peeked_most=*)
    @cython.locals(outlets=Outlets, transports=list, ready=bytearray)
    @cython.locals(transport=TcpTransport, number=int, descriptor=int, events=long)
    cpdef _serve(self)


cdef class TcpTransport(Outlet):
    cdef public Py_ssize_t _peeked_most
    cdef public bint _is_at_end, _is_reading, _reads_on
    cpdef bint has_unread(self)
    cpdef set_protocol(self, protocol)
    cpdef hand_to(self, protocol)
    cpdef serve(self, long events)
    @cython.locals(size=Py_ssize_t, count=Py_ssize_t)
    cpdef read(self)
    cpdef _peek(self)
    @cython.locals(outlets=Outlets)
    cpdef read_now(self)
