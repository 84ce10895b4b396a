cimport cython
from cpython cimport time

from balancer.logs.accesslines cimport JsonLine
from balancer.logs.accesslog cimport AccessLog
from balancer.metrics.recorder cimport Recorder
from balancer.picking.members cimport Pick, PickNote
from balancer.proxy cimport lines
from balancer.proxy.account cimport Account
from balancer.zones.layouts cimport TariffLayout


cdef class Accounting:
    cdef public AccessLog _access_log
    cdef public JsonLine _json
    cdef public Recorder recorder
    cdef public object _spans
    cpdef close(self, Account account, str from_zone, logging=*)
    @cython.locals(pick=Pick, note=PickNote, tariff=TariffLayout, dollars=double, blind_dollars=double)
    cdef bint _count(self, Account account, str from_zone, double seconds) except -1
