cimport cython

from balancer.connections.idle_shares cimport IdleShare, IdleShares
from balancer.connections.kept cimport KeptConnections
from balancer.http.streams cimport EndpointStream
from balancer.http1.endpoint cimport EndpointConnection, Keeper
from balancer.model.layouts cimport ProxySettingsLayout
from balancer.picking.members cimport Member
from balancer.runtime.deadlines cimport Deadlines


cdef class ConnectionPool(Keeper):
    cdef public bint _closed
    cdef public list _idle
    cdef public Member _member
    cdef public KeptConnections _pools
    cdef public IdleShare _share
    cdef public object _tls
    @cython.locals(connection=EndpointConnection, idle=list, pools=KeptConnections)
    cpdef EndpointStream lease(self, bint fresh)
    @cython.locals(now=double, settings=ProxySettingsLayout, share=IdleShare, count=Py_ssize_t)
    @cython.locals(pools=KeptConnections, deadlines=Deadlines)
    cpdef give_back(self, EndpointConnection connection)
    @cython.locals(shares=IdleShares)
    cdef bint _may_grow(self, Py_ssize_t most) except *
    cpdef lost(self, EndpointConnection connection)
    @cython.locals(connection=EndpointConnection)
    cpdef bint end_idle(self) except *
    cdef _forget(self, EndpointConnection connection)
