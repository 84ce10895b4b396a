cdef class ResponseConsumer:
    cpdef interim(self, response)
    cpdef response_started(self, response, bytes data, tuple trailers)
    cpdef response_data(self, bytes data)
    cpdef response_end(self, tuple trailers)
    cpdef switched(self, response, bytes data)
    cpdef endpoint_failed(self, kind)
    cpdef endpoint_paused(self)
    cpdef endpoint_resumed(self)
