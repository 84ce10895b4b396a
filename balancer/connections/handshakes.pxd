cimport cython

from balancer.connections.arrivals cimport Arrival, ByAlpn
from balancer.connections.arriving cimport ArrivingConnections
from balancer.connections.greetings cimport Greetings, context_for, speaks
from balancer.connections.handshaking cimport UnfinishedHandshakes
from balancer.connections.hellos cimport AwaitedHello
from balancer.http.current cimport CurrentSettings
from balancer.runtime.accepted cimport AcceptedSocket
from balancer.runtime.deadlines cimport Deadlines
from balancer.runtime.tcp cimport TcpTransport, TcpTransports
from balancer.runtime.tls cimport TlsTransport
from balancer.runtime.tls_handshakes cimport TlsHandshake


cdef class Handshakes:
    cdef public ArrivingConnections _arriving
    cdef public object _client, _loop, _note, _relay
    cdef public Deadlines _deadlines
    cdef public Greetings _greetings
    cdef public dict _hellos
    cdef public double _seconds
    cdef public CurrentSettings _settings
    cdef public TcpTransports _transports
    cdef public UnfinishedHandshakes _unfinished
    cpdef owed(self, entry_point)
    @cython.locals(transports=TcpTransports, deadlines=Deadlines, awaited=AwaitedHello, tcp=TcpTransport)
    @cython.locals(arriving=ArrivingConnections)
    cpdef begin(self, AcceptedSocket connection, Arrival arrival)
    cpdef _unheard(self, AwaitedHello awaited, bint failed)
    @cython.locals(arrival=Arrival, deadlines=Deadlines, arriving=ArrivingConnections)
    cpdef _settle(self, AwaitedHello awaited)
    @cython.locals(arrival=Arrival, tcp=TcpTransport, greetings=Greetings)
    cpdef _greet(self, AwaitedHello awaited, hello)
    @cython.locals(tcp=TcpTransport)
    cpdef bint _is_refused(self, AwaitedHello awaited, hello) except -1
    @cython.locals(arrival=Arrival, greetings=Greetings)
    cpdef _go_on(self, AwaitedHello awaited, hello, choice)
    @cython.locals(arrival=Arrival, protocol=ByAlpn, handshake=TlsHandshake, arriving=ArrivingConnections)
    @cython.locals(until=double, chain_bytes=Py_ssize_t)
    cpdef _shake(self, AwaitedHello awaited, hello, choice, names)
    @cython.locals(arriving=ArrivingConnections)
    cpdef _shaken(self, TlsHandshake handshake, bint failed)
    cpdef _refuse(self, TlsTransport transport)
