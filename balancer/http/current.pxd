from balancer.model.layouts cimport ProxySettingsLayout


cdef class CurrentSettings:
    cdef public ProxySettingsLayout proxy
