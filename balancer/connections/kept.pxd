from balancer.connections.idle_shares cimport IdleShare, IdleShares
from balancer.http.current cimport CurrentSettings
from balancer.runtime.deadlines cimport Deadlines


cdef class KeptConnections:
    cdef public object contexts, flusher, now, places, raw_contexts, transports
    cdef public set coming, open
    cdef public Deadlines deadlines
    cdef public IdleShares idle
    cdef public CurrentSettings settings
    @cython.locals(now=double)
    cpdef note_idle(self, connection, IdleShare share, double seconds)
    cpdef lost(self, connection, str namespace)
