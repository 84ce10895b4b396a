# The other classes here have no attributes of their own.


cdef class ServerNames:
    cdef public object _asking, _configuration, _contexts, _fallback, _goes_by, _on_dear, _protocols, _table
    cdef public object listener_context
    cdef public dict _chosen, _strict
    cdef public bint _raw
