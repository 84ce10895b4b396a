cimport cython

from balancer.connections.kept cimport KeptConnections
from balancer.connections.shared_pools cimport SharedPool
from balancer.connections.single_pools cimport ConnectionPool
from balancer.http.streams cimport Pool
from balancer.picking.members cimport Member


cdef class _MemberPools:
    cdef public dict by_tls, shared_by_tls
    cdef public bint closed


cdef class ConnectionPools(KeptConnections):
    @cython.locals(pools=_MemberPools)
    cpdef Pool of(self, Member member, tls, bint http2)
    @cython.locals(pools=_MemberPools)
    cpdef SharedPool shared(self, Member member, tls=*)
    cdef ConnectionPool _made(self, _MemberPools pools, Member member, tls)


cdef _MemberPools _pools_of(Member member)
