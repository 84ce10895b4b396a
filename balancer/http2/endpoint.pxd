cimport cython

from balancer.http2.endpoint_intake cimport ResponseCarrier, ResponseIntake
from balancer.http2.endpoint_stream cimport Http2EndpointStream
from balancer.http2.engine cimport Engine
from balancer.http2.flushing cimport Flusher
from balancer.http2.pulse cimport Pulse
from balancer.http2.windows cimport Windows
from balancer.runtime cimport calls
from balancer.runtime.deadlines cimport Deadlines

cdef bytearray MEMORY


cdef class Http2EndpointConnection(ResponseCarrier):
    cdef public Deadlines _deadlines
    cdef public Engine _engine
    cdef public Flusher _flusher
    cdef public ResponseIntake _intake
    cdef public object _loop, _sharer, _transport, place
    cdef public long long _most, limit, requests, streams
    cdef public int _state
    cdef public Windows _windows
    cdef public bint closed, is_idle
    cdef public double deadline, idle_since, next_look
    cdef public Pulse pulse
    cpdef bint takes_more(self) except -1
    @cython.locals(deadlines=Deadlines)
    cpdef Http2EndpointStream lease(self)
    cpdef data_received(self, bytes data)
    cpdef flush(self)
    cpdef expire(self)
    cdef _follow_windows(self)
    cdef bint _moves(self, int event) except -1
    cdef _fail_all(self, kind)
