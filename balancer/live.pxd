cimport cython

from balancer.http.layouts cimport HeadEditLayout, RequestHeadLayout
from balancer.http.origin cimport Origin
from balancer.matching.routing cimport RouteTable
from balancer.matching.served cimport Match
from balancer.model.layouts cimport ProxySettingsLayout
from balancer.picking.backend cimport BackendRuntime


cdef class View:
    cdef public dict backends, configurations, tables
    cdef public tuple passing
    cdef public object compressor, edits, forwarded, generation, logged, model, own_zone
    cdef public object request_fields
    cdef public HeadEditLayout plain_edit, secure_edit
    cdef public ProxySettingsLayout proxy
    cdef public bint makes_ids
    cdef public str zone
    @cython.locals(routes=RouteTable)
    cpdef Match match(self, Origin origin, RequestHeadLayout request)


cdef class LiveTable:
    cdef public object _drain, _keyring, _make_gate, _peers_of, _random_below, settings
    cdef public View view
