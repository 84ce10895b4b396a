from balancer.metrics.recorder cimport Recorder
from balancer.picking.budget cimport RetryReserve


cdef class Sight:
    cdef public object _health_log
    cdef public Recorder _recorder


cdef class Forwarder:
    cdef public object absences, bodies, knocks, pools, sight
    cdef public Recorder recorder
    cdef public RetryReserve reserve
