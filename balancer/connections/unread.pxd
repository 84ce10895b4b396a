cimport cython

from balancer.http.current cimport CurrentSettings


cdef class _Client:
    cdef public bytes key
    cdef public dict sizes
    cdef public long long total


cdef class Unread:
    cdef public CurrentSettings _settings
    cdef public dict _by_key, _clients
    cdef public bint is_much
    cdef public long long total
    @cython.locals(client=_Client, before=cython.longlong)
    cpdef note(self, connection, long long size)
    cdef _Client _enter(self, connection)
    cdef _forget(self, connection, _Client client)
    @cython.locals(client=_Client)
    cdef _drop_most(self)
