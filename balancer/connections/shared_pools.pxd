cimport cython

from balancer.connections.idle_shares cimport IdleShare, IdleShares
from balancer.connections.kept cimport KeptConnections
from balancer.http.streams cimport EndpointStream, Pool
from balancer.http2.endpoint cimport Http2EndpointConnection
from balancer.http2.endpoint_stream cimport Http2EndpointStream
from balancer.model.layouts cimport ProxySettingsLayout
from balancer.picking.members cimport Member


cdef class SharedPool(Pool):
    cdef public bint _closed
    cdef public double _ahead_from
    cdef public Py_ssize_t _waiting
    cdef public object _coming, _ready, _tls
    cdef public list _connections
    cdef public Member _member
    cdef public KeptConnections _pools
    cdef public IdleShare _share
    @cython.locals(best=Http2EndpointConnection, connection=Http2EndpointConnection)
    @cython.locals(pools=KeptConnections, settings=ProxySettingsLayout)
    cpdef EndpointStream lease(self, bint fresh)
    @cython.locals(pools=KeptConnections, share=IdleShare, shares=IdleShares, settings=ProxySettingsLayout)
    cpdef freed(self, Http2EndpointConnection connection)
    cpdef ready(self, connection)
    cpdef lost(self, Http2EndpointConnection connection)
    @cython.locals(connection=Http2EndpointConnection)
    cdef _settle(self)
    cdef _wake(self, Http2EndpointConnection connection)
