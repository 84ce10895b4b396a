cimport cython
from cpython cimport time

from balancer.http.layouts cimport RequestHeadLayout
from balancer.http.origin cimport Origin
from balancer.http.streams cimport Outgoing, RequestStream
from balancer.live cimport View
from balancer.matching.served cimport Match
from balancer.model.layouts cimport RoutePolicyLayout
from balancer.proxy.account cimport Account
from balancer.proxy.supplies cimport Supplies
from balancer.runtime.deadlines cimport Alarm


cdef class RequestContext:
    cdef public Account account
    cdef public Alarm alarm
    cdef public tuple editors, held
    cdef public bint is_call, is_over
    cdef public object kept, waiting
    cdef public Match match
    cdef public Origin origin
    cdef public Outgoing outgoing
    cdef public long page_status
    cdef public RoutePolicyLayout policy
    cdef public RequestStream stream
    cdef public Supplies supplies
    cdef public View view
    @cython.locals(origin=Origin, alarms=list)
    cpdef open(self, Supplies supplies, waiting, RequestStream stream, RequestHeadLayout request)
    cpdef forwarded(self, error)
