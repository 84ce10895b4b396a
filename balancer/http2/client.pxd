cimport cython

from balancer.http2.client_stream cimport Http2RequestStream
from balancer.http2.intake cimport Intake, RequestCarrier
from balancer.http2.lifetime cimport Lifetime
from balancer.http2.outflow cimport Outflow
from balancer.http2.portions cimport Portions
from balancer.model.layouts cimport ProxySettingsLayout
from balancer.runtime cimport calls
from balancer.runtime.deadlines cimport Deadlines

cdef bytearray MEMORY


cdef class Http2Connection(RequestCarrier):
    cdef public Deadlines _deadlines
    cdef public double deadline, idle_since, next_look
    cdef public Intake _intake
    cdef public Lifetime _lifetime
    cdef public bint _is_noted, closed
    cdef public object _loop, _on_open, _port, _transport, entry_point, place
    cdef public ProxySettingsLayout _settings
    cdef public Outflow _outflow
    cdef public str _server_name, peer
    cdef public Portions _portions
    cpdef data_received(self, bytes data)
    @cython.locals(is_done=bint, waits=cython.longlong)
    cpdef flush(self)
    cpdef expire(self)
    @cython.locals(now=double)
    cpdef _take_in(self, bytes data)
    cdef _leave(self)
    cdef _close(self)
    cdef bint _is_done(self) except -1
    @cython.locals(until=double, deadline=double)
    cdef _rearm(self)
