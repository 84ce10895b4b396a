cimport cython

from balancer.connections.arrivals cimport Arrival, ByAlpn
from balancer.connections.client_making cimport ClientMaker
from balancer.connections.greetings cimport Greetings, context_for, speaks
from balancer.connections.handshaking cimport UnfinishedHandshakes
from balancer.connections.peeking cimport hello_at_hand
from balancer.connections.places cimport ClientPlaces
from balancer.http.current cimport CurrentSettings
from balancer.model.layouts cimport ProxySettingsLayout
from balancer.runtime.accepted cimport AcceptedSocket
from balancer.runtime.deadlines cimport Deadlines
from balancer.runtime.tcp cimport TcpTransports
from balancer.runtime.tls cimport TlsTransport


cdef class Reception:
    cdef public Py_ssize_t _bound
    cdef public ClientMaker _client_maker
    cdef public Deadlines _deadlines
    cdef public object _entrances, _hand_over, _loop, _note, _relays
    cdef public Greetings _greetings
    cdef public ClientPlaces _places
    cdef public UnfinishedHandshakes _unfinished
    cdef public double _handshake_seconds
    cdef public dict _hellos
    cdef public CurrentSettings _settings
    cdef public TcpTransports _transports
    cdef public set arriving
    @cython.locals(settings=ProxySettingsLayout, most=Py_ssize_t, has_hello=bint, is_announced=bint)
    @cython.locals(reads_first=bint, may_be_http2=bint, is_http=bint, places=ClientPlaces, connection=AcceptedSocket)
    cpdef _take(self, list accepted, entry_point)
    @cython.locals(places=ClientPlaces)
    cpdef _welcome_later(self, AcceptedSocket connection, str peer, entry_point)
    @cython.locals(places=ClientPlaces)
    cpdef _welcomed(self, task)
    @cython.locals(places=ClientPlaces)
    cdef bint _makes_room(self, str peer) except -1
    cpdef _plain(self, Arrival arrival, bint http2=*)
    @cython.locals(transports=TcpTransports)
    cdef _open(self, AcceptedSocket connection, protocol)
    @cython.locals(arrival=Arrival, greetings=Greetings)
    cdef bint _shake_hands(self, AcceptedSocket connection, str peer, entry_point) except -1
    cpdef bint _is_over(self, AcceptedSocket connection, Arrival arrival, hello, choice) except -1
    @cython.locals(greetings=Greetings, protocol=ByAlpn, handshake=TlsTransport)
    @cython.locals(places=ClientPlaces, unfinished=UnfinishedHandshakes)
    cpdef _shake(self, AcceptedSocket connection, Arrival arrival, hello, choice, double seconds)
    @cython.locals(places=ClientPlaces, unfinished=UnfinishedHandshakes)
    cpdef _shaken(self, TlsTransport handshake, bint failed)
    @cython.locals(maker=ClientMaker)
    cpdef _client(self, Arrival arrival, bint http2)
    @cython.locals(places=ClientPlaces)
    cpdef _arrived(self, Arrival arrival, client)
