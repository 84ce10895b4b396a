from balancer.picking.rotation cimport Rotation


cdef class Turns:
    cdef public object pools
    cdef public Rotation drained, general, serving, zonal
    cdef public tuple fallbacks
