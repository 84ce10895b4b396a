cdef class Turns:
    cdef public object drained, general, pools, serving, zonal
    cdef public tuple fallbacks
