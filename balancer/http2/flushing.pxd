cimport cython

from balancer.connections.unread cimport Unread


cdef class Flushed:
    cdef public bint is_dirty
    cpdef flush(self)
    cpdef abort(self)


cdef class Flusher:
    cdef public list _dirty
    cdef public object _loop
    cdef public Unread unread
    cpdef add(self, Flushed connection)
    @cython.locals(dirty=list, connection=Flushed)
    cpdef _flush(self)
