from balancer.http2.frames cimport Frames


cdef class Engine:
    cdef public object budgets
    cdef public Frames frames
    cdef public long long peer_max_streams
    cpdef list receive(self, bytes data, double now)
    cpdef bint has_bytes(self) except -1
    cpdef bytes take_bytes(self, most=*)
    cpdef list take_events(self)
    cpdef bint can_request(self) except -1
    cpdef long request(self, fields, bint ends) except -1
    cpdef interim(self, long stream, fields)
    cpdef respond(self, long stream, fields, bint ends)
    cpdef data(self, long stream, bytes data, bint ends)
    cpdef trailers(self, long stream, fields)
    cpdef reset(self, long stream, long long code)
    cpdef bint withdraw(self, long stream) except -1
    cpdef received(self, long stream, Py_ssize_t size)
    cpdef long long queued(self, long stream) except -1
    cpdef long long queued_in_all(self) except -1
    cpdef ping(self, bytes data)
    cpdef shutdown_notice(self)
    cpdef goaway(self, long long code)
