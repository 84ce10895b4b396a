from balancer.matching.routing cimport RouteTable
from balancer.picking.backend cimport BackendRuntime


cdef class View:
    cdef public dict backends
    cdef public object compressor, edits, forwarded, generation, logged, model, own_zone, plain_edit, proxy
    cdef public object request_fields, secure_edit
    cdef public bint makes_ids, underscores
    cdef public RouteTable routes
    cdef public str zone


cdef class LiveTable:
    cdef public object _drain, _keyring, _make_gate, _peers_of, _random_below, settings
    cdef public View view
