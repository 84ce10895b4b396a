from balancer.proxy.attempts cimport Job


cdef class Holding(Job):
    cdef public tuple held
