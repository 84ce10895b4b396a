from balancer.runtime.tls cimport TlsTransport


cdef class Arrival:
    cdef public object arriving, entry_point, port
    cdef public str peer, server_name


cdef class ByAlpn:
    cdef public Arrival _arrival
    cdef public object _make, _refuse
    cpdef connection_made(self, TlsTransport transport)
    cpdef connection_lost(self, exc)
