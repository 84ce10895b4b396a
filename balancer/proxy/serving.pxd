from balancer.http.layouts cimport RequestHeadLayout
from balancer.http.streams cimport RequestServer, RequestStream
from balancer.proxy.requests cimport Request
from balancer.proxy.supplies cimport Supplies


cdef class Proxy(Supplies):
    pass


cdef class _Server(RequestServer):
    cdef public object _client, _ended
    cdef public bint _is_closed
    cdef public Py_ssize_t _waiting
    cdef public Supplies _supplies
