cimport cython

from balancer.connections.arrivals cimport Arrival
from balancer.connections.arriving cimport ArrivingConnections
from balancer.connections.client_making cimport ClientMaker
from balancer.connections.handshakes cimport Handshakes
from balancer.http.current cimport CurrentSettings
from balancer.model.layouts cimport ProxySettingsLayout
from balancer.runtime.accepted cimport AcceptedSocket
from balancer.runtime.tcp cimport TcpTransports


cdef class Reception:
    cdef public ArrivingConnections _arriving
    cdef public Py_ssize_t _bound
    cdef public ClientMaker _client_maker
    cdef public object _entrances, _hand_over, _loop, _note, _relays
    cdef public Handshakes _handshakes
    cdef public CurrentSettings _settings
    cdef public TcpTransports _transports
    @cython.locals(settings=ProxySettingsLayout, most=Py_ssize_t, reads_hello=bint, is_announced=bint)
    @cython.locals(may_be_http2=bint, is_http=bint, connection=AcceptedSocket)
    @cython.locals(arriving=ArrivingConnections, handshakes=Handshakes)
    cpdef _take(self, list accepted, entry_point)
    @cython.locals(arriving=object, handshakes=Handshakes)  # a bound method of a typed one cannot be taken
    cpdef _welcome_later(self, AcceptedSocket connection, str peer, entry_point)
    cdef Py_ssize_t _most(self, ProxySettingsLayout settings) except -1
    cpdef _plain(self, Arrival arrival, bint http2=*)
    @cython.locals(transports=TcpTransports)
    cdef _open(self, AcceptedSocket connection, protocol)
    @cython.locals(maker=ClientMaker)
    cpdef _client(self, Arrival arrival, bint http2)
    @cython.locals(arriving=ArrivingConnections)
    cpdef _arrived(self, Arrival arrival, client)
