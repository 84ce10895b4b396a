from balancer.http.layouts cimport HeadEditLayout
from balancer.model.layouts cimport ProxySettingsLayout
from balancer.picking.backend cimport BackendRuntime


cdef class View:
    cdef public dict backends, tables
    cdef public tuple passing
    cdef public object compressor, configurations, edits, forwarded, generation, hops, logged, model, own_zone
    cdef public object relays, request_fields, steering
    cdef public HeadEditLayout plain_edit, secure_edit
    cdef public ProxySettingsLayout proxy
    cdef public bint makes_ids
    cdef public str zone


cdef class LiveTable:
    cdef public object _absences, _drain, _keyring, _make_gate, _others, _random_below, failing, settings
    cdef public View view
