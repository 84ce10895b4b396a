cimport cython
from cpython cimport time

from balancer.http.layouts cimport RequestHeadLayout
from balancer.http.streams cimport RequestServer, RequestStream
from balancer.live cimport LiveTable, View
from balancer.matching.served cimport Match
from balancer.http.streams cimport Outgoing
from balancer.proxy.account cimport Account, new_request_id
from balancer.proxy.accounting cimport Accounting
from balancer.proxy.answering cimport Answering
from balancer.proxy.forwarder cimport Forwarder


cdef class Proxy:
    cdef public Accounting accounting
    cdef public list alarms
    cdef public object deadlines, loop, mirrors
    cdef public Forwarder forwarder
    cdef public LiveTable live


cdef class _Server(RequestServer):
    cdef public object _client, _ended
    cdef public bint _is_closed
    cdef public Py_ssize_t _waiting
    cdef public Proxy proxy


cdef class _Serving(Answering):
    cdef public object _go
    cdef public bint _is_over
    cdef public _Server _server
    cpdef begin(self, RequestHeadLayout request)
    cdef _let_in(self, RequestHeadLayout request, Match match, go, body=*)
