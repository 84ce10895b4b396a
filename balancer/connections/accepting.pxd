cimport cython

from balancer.connections.arrivals cimport Arrival, ByAlpn
from balancer.connections.client_making cimport ClientMaker
from balancer.connections.greetings cimport Greetings, context_for, speaks
from balancer.connections.handshaking cimport UnfinishedHandshakes
from balancer.connections.hellos cimport AwaitedHello
from balancer.connections.places cimport ClientPlaces
from balancer.http.current cimport CurrentSettings
from balancer.model.layouts cimport ProxySettingsLayout
from balancer.runtime.accepted cimport AcceptedSocket
from balancer.runtime.deadlines cimport Deadlines
from balancer.runtime.tcp cimport TcpTransport, TcpTransports
from balancer.runtime.tls_handshakes cimport TlsHandshake


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
    @cython.locals(settings=ProxySettingsLayout, most=Py_ssize_t, reads_hello=bint, is_announced=bint)
    @cython.locals(may_be_http2=bint, is_http=bint, places=ClientPlaces, connection=AcceptedSocket)
    cpdef _take(self, list accepted, entry_point)
    cpdef _welcome_later(self, AcceptedSocket connection, str peer, entry_point)
    @cython.locals(places=ClientPlaces, hellos=UnfinishedHandshakes)
    cpdef _enter(self, member, str peer, entry_point)
    @cython.locals(places=ClientPlaces)
    cpdef _leave(self, member, entry_point)
    cpdef _end_for(self, list ended)
    @cython.locals(places=ClientPlaces)
    cdef bint _makes_room(self, str peer) except -1
    cpdef _plain(self, Arrival arrival, bint http2=*)
    @cython.locals(transports=TcpTransports)
    cdef _open(self, AcceptedSocket connection, protocol)
    @cython.locals(transports=TcpTransports, deadlines=Deadlines, awaited=AwaitedHello, tcp=TcpTransport)
    cpdef _await_hello(self, AcceptedSocket connection, Arrival arrival)
    cpdef _unheard(self, AwaitedHello awaited, bint failed)
    @cython.locals(arrival=Arrival, deadlines=Deadlines)
    cpdef _settle(self, AwaitedHello awaited)
    @cython.locals(arrival=Arrival, tcp=TcpTransport, greetings=Greetings)
    cpdef _greet(self, AwaitedHello awaited, hello)
    @cython.locals(tcp=TcpTransport)
    cpdef bint _is_refused(self, AwaitedHello awaited, hello) except -1
    @cython.locals(arrival=Arrival, greetings=Greetings)
    cpdef _go_on(self, AwaitedHello awaited, hello, choice)
    @cython.locals(arrival=Arrival, protocol=ByAlpn, handshake=TlsHandshake)
    @cython.locals(places=ClientPlaces, unfinished=UnfinishedHandshakes, until=double)
    cpdef _shake(self, AwaitedHello awaited, hello, choice, names)
    @cython.locals(places=ClientPlaces, unfinished=UnfinishedHandshakes)
    cpdef _shaken(self, TlsHandshake handshake, bint failed)
    @cython.locals(maker=ClientMaker)
    cpdef _client(self, Arrival arrival, bint http2)
    @cython.locals(places=ClientPlaces)
    cpdef _arrived(self, Arrival arrival, client)
