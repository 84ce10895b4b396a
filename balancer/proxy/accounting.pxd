cimport cython
from cpython cimport time

from balancer.logs.accesslines cimport JsonLine
from balancer.logs.accesslog cimport AccessLog
from balancer.matching.destinations cimport Destination, DestinationNote, PathCount
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
    @cython.locals(pick=Pick, note=PickNote, tariff=TariffLayout, dollars=double, blind_dollars=double, sent=double, received=double)
    cdef bint _count(self, Account account, str from_zone, double seconds) except -1
    @cython.locals(to=Destination, status=long, noted=DestinationNote)
    cdef bint _turn(self, PickNote note, Account account, Pick pick, str from_zone) except -1
    @cython.locals(recorder=Recorder, slots=tuple, to_zone=str)
    cdef bint _find(self, DestinationNote noted, Destination to, long status, Pick pick, str from_zone) except -1
    @cython.locals(count=PathCount, first=Py_ssize_t, recorder=Recorder)
    cdef Py_ssize_t _route_slot(self, Destination to, long status) except? -2


cdef _renew(PickNote note, Destination to, long status, str from_zone, tuple slots)
