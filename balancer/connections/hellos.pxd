cimport cython

from balancer.connections.arrivals cimport Arrival
from balancer.connections.clienthello cimport read_hello
from balancer.runtime.tcp cimport TcpTransport


cdef class AwaitedHello:
    cdef public object _come, _lost, _preparing, place
    cdef public bint _has_come, _is_cancelled, closed
    cdef public double deadline, next_look, until
    cdef public Arrival arrival
    cdef public TcpTransport tcp
    cpdef settle(self)
    cpdef cancel(self)
    cpdef peeked(self, bytes ahead, bint is_at_end)
