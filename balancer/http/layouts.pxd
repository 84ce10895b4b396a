from balancer.http.messages cimport Repeated, Written


cdef class RequestHeadLayout:
    cdef readonly bytes authority
    cdef readonly object body_bytes, expects_continue
    cdef readonly tuple fields
    cdef readonly object head_bytes
    cdef readonly bytes host_name, method, path
    cdef readonly str protocol
    cdef readonly bytes raw_target
    cdef readonly Repeated repeated
    cdef readonly bytes target, upgrade


cdef class ResponseHeadLayout:
    cdef readonly object body_bytes
    cdef readonly tuple connection_options, fields
    cdef readonly object status
    cdef readonly bytes upgrade
    cdef readonly Written written


cdef class HeadEditLayout:
    cdef readonly tuple added
    cdef readonly frozenset removed
