cimport cython

from balancer.connections.idle_shares cimport IdleShare, IdleShares
from balancer.http.current cimport CurrentSettings
from balancer.http.streams cimport EndpointStream, Pool
from balancer.http1.endpoint cimport EndpointConnection, Keeper
from balancer.model.layouts cimport ProxySettingsLayout
from balancer.picking.members cimport Member
from balancer.runtime.deadlines cimport Deadlines


cdef class ConnectionPool(Keeper):
    cdef public bint _closed
    cdef public list _idle
    cdef public Member _member
    cdef public ConnectionPools _pools
    cdef public IdleShare _share
    cdef public object _tls
    @cython.locals(connection=EndpointConnection)
    cpdef EndpointStream lease(self, bint fresh)
    @cython.locals(now=double, settings=ProxySettingsLayout, shares=IdleShares)
    cpdef give_back(self, EndpointConnection connection)
    cpdef lost(self, EndpointConnection connection)
    @cython.locals(connection=EndpointConnection)
    cpdef bint end_idle(self) except *
    cdef _forget(self, EndpointConnection connection)


cdef class _MemberPools:
    cdef public dict by_tls, shared_by_tls
    cdef public bint closed


cdef class ConnectionPools:
    cdef public object _loop, flusher, places, transports
    cdef public set coming, open
    cdef public Deadlines deadlines
    cdef public IdleShares idle
    cdef public Py_ssize_t idle_count
    cdef public CurrentSettings settings
    @cython.locals(pools=_MemberPools)
    cpdef Pool of(self, Member member, tls, bint http2)
    cdef ConnectionPool _made(self, _MemberPools pools, Member member, tls)
    cpdef lost(self, connection, str namespace)
    cpdef double now(self) except? -1


cdef _MemberPools _pools_of(Member member)
