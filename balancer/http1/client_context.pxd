from balancer.connections.unread cimport Unread
from balancer.http.current cimport CurrentSettings
from balancer.http1.first_heads cimport FirstHeads
from balancer.runtime.deadlines cimport Deadlines


cdef class ClientContext:
    cdef public CurrentSettings settings
    cdef public Deadlines deadlines
    cdef public FirstHeads first_heads
    cdef public double linger_seconds
    cdef public Unread unread
