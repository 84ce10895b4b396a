from balancer.live cimport LiveTable
from balancer.proxy.accounting cimport Accounting
from balancer.proxy.forwarder cimport Forwarder
from balancer.runtime.deadlines cimport Alarm


cdef class Supplies:
    cdef public Accounting accounting
    cdef public list alarms
    cdef public object deadlines, hooking, loop, mirrors
    cdef public Forwarder forwarder
    cdef public LiveTable live
    cpdef Alarm take_alarm(self)
