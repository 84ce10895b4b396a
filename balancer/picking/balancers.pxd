from balancer.picking.health cimport BackendHealth
from balancer.picking.turns cimport Turns


cdef class Picker:
    cpdef pick(self, tried=*, double now=*)


cdef class Balancer(Picker):
    pass


cdef class PoolBalancer(Balancer):
    cdef public object _chooser, _maker
    cdef public BackendHealth _health
    cdef public set _hindrances, _impaired
    cdef public Py_ssize_t _seen_version
    cdef public dict _left
    cdef public object _detours
    cdef public tuple _unwell
    cdef public Turns _ailing, _well


cdef class DryRun(Balancer):
    cdef public object _foretold, _tried_out
    cdef public PoolBalancer _policy, _serving
