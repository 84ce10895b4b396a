cimport cython

from balancer.connections.arrivals cimport Arrival
from balancer.connections.client_making cimport ClientMaker
from balancer.connections.places cimport ClientPlaces
from balancer.http.current cimport CurrentSettings
from balancer.model.layouts cimport ProxySettingsLayout
from balancer.runtime.tcp cimport TcpTransports


cdef class Reception:
    cdef public Py_ssize_t _bound
    cdef public ClientMaker _client_maker
    cdef public object _entrances, _greetings, _hand_over, _loop, _note, _places, _relays, _unfinished
    cdef public double _handshake_seconds
    cdef public dict _hellos
    cdef public CurrentSettings _settings
    cdef public TcpTransports _transports
    cdef public set arriving
    @cython.locals(settings=ProxySettingsLayout, most=Py_ssize_t, has_hello=bint, is_announced=bint)
    @cython.locals(reads_first=bint, may_be_http2=bint, is_http=bint, places=ClientPlaces)
    cpdef _take(self, accepted, entry_point)
    @cython.locals(places=ClientPlaces)
    cdef bint _makes_room(self, str peer) except -1
    cpdef _plain(self, Arrival arrival, bint http2=*)
    @cython.locals(transports=TcpTransports)
    cdef _open(self, connection, protocol)
    @cython.locals(maker=ClientMaker)
    cpdef _client(self, Arrival arrival, bint http2)
    @cython.locals(places=ClientPlaces)
    cpdef _arrived(self, Arrival arrival, client)
