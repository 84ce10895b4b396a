from balancer.http.layouts cimport ResponseHeadLayout


cdef class ResponseConsumer:
    cpdef interim(self, ResponseHeadLayout response)
    cpdef response_started(self, ResponseHeadLayout response, bytes data, tuple trailers)
    cpdef response_data(self, bytes data)
    cpdef response_end(self, tuple trailers)
    cpdef switched(self, ResponseHeadLayout response, bytes data)
    cpdef bint reads_little(self)
    cpdef endpoint_failed(self, kind)
    cpdef endpoint_paused(self)
    cpdef endpoint_resumed(self)
