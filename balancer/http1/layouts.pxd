from balancer.http.layouts cimport ResponseHeadLayout


cdef class Http1ResponseLayout(ResponseHeadLayout):
    cdef readonly object framing, keep_alive
    cdef readonly tuple names
    cdef readonly bytes reason
