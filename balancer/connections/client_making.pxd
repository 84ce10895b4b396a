from balancer.connections.arrivals cimport Arrival
from balancer.http.current cimport CurrentSettings
from balancer.http1.client_context cimport ClientContext
from balancer.runtime.deadlines cimport Deadlines


cdef class ClientMaker:
    cdef public CurrentSettings _settings
    cdef public Deadlines _deadlines
    cdef public ClientContext _context
    cdef public object _flusher, _names, _tally
    cpdef make(self, Arrival arrival, bint http2, on_open)
    cdef _deciding_name(self, Arrival arrival)
