cimport cython

from balancer.http.current cimport CurrentSettings
from balancer.http.layouts cimport RequestHeadLayout
from balancer.http.streams cimport RequestServer
from balancer.http1.client_context cimport ClientContext
from balancer.http1.collecting cimport HeadCollector
from balancer.http1.heads cimport RequestHeadReader
from balancer.http1.inflow cimport Inflow
from balancer.http1.request_stream cimport Http1RequestStream
from balancer.model.layouts cimport ProxySettingsLayout
from balancer.runtime cimport calls
from balancer.runtime.deadlines cimport Deadlines

cdef bytearray MEMORY
cdef int WAITING
cdef int HEAD
cdef int SERVING
cdef int UNREAD
cdef int LINGERING
cdef tuple NEXT


cdef class ClientConnection(Inflow):
    cdef public HeadCollector _collector
    cdef public ClientContext _context
    cdef public CurrentSettings _current
    cdef public object _arrival, _now, _on_open, entry_point, place
    cdef public Deadlines _deadlines
    cdef public bint _is_looking, closed, secure
    cdef public double deadline, idle_since, next_look
    cdef public str _server_name
    cdef public RequestHeadReader _reader
    cdef public RequestServer _server
    cdef public ProxySettingsLayout _settings
    cdef public int _state
    cdef public long requests
    cdef public Http1RequestStream stream
    cpdef bint has_unread(self) except -1
    cpdef expire(self)
    cpdef _arm(self, double seconds)
    cpdef _look(self)
    @cython.locals(read=tuple)
    cpdef bint _begins_as_another(self, bytes data) except -1
    cpdef bint _look_once(self) except -1
    cpdef _hand_over(self, RequestHeadLayout request, bint keep_alive)
    cpdef _refuse(self, refusal)
    cpdef _wait_for_more(self)
