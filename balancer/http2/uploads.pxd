from balancer.http2.bodies cimport OutgoingBodies


cdef class Uploads:
    cdef public OutgoingBodies _bodies
    cdef public bint _is_held
    cdef public dict _kept
    cdef public long long first_room, room
    cpdef bint goes_at_once(self, long stream, Py_ssize_t size, bint is_first) except -1
    cpdef keep(self, long stream, bytes data, bint ends)
    cpdef bint end(self, long stream, fields) except -1
    cpdef bint may_send(self) except -1
    cpdef begin_turn(self, bint is_held, long long window)
    cpdef send(self, sink, most)
    cpdef long long queued(self, long stream) except -1
    cpdef long long queued_in_all(self) except -1
    cpdef forget(self, long stream)
