cimport cython

from balancer.runtime cimport calls
from balancer.runtime.accepted cimport AcceptedSocket, whole

cdef Py_ssize_t _AGAIN
cdef Py_ssize_t _INTERRUPTED
cdef Py_ssize_t _JOINED_BYTES


cdef class Outlet


cdef class Outlets:
    cdef public object _epoll, _loop, _with_room
    cdef public list _lost, _opened
    cdef public Outlet unsent
    cdef public bint is_serving
    cpdef forget(self, int descriptor)
    cpdef watch_room(self, int descriptor)
    cpdef lose(self, Outlet outlet)
    @cython.locals(lost=list, unsent=Outlet, before=Outlet, outlet=Outlet)
    cpdef catch_up(self)
    cpdef failed(self, Outlet outlet, error)


cdef class Outlet:
    cdef public object _socket, _loop, _protocol
    cdef public int _descriptor
    cdef public Py_ssize_t _high, _low, _sent, _size
    cdef public bint _is_closing, _is_eof_wanted, _is_listed, _is_losing, _is_paused, _is_room_watched
    cdef public Outlets _outlets
    cdef public Outlet _unsent_before
    cdef public bytes _next
    cdef public list _following
    cpdef _set_up(self, Outlets outlets, loop, connection, int descriptor, protocol)
    @cython.locals(outlets=Outlets)
    cpdef write(self, bytes data)
    cpdef Py_ssize_t get_write_buffer_size(self) except -1
    cpdef bint is_closing(self)
    cpdef close(self)
    cpdef abort(self)
    @cython.locals(following=list, data=bytes, start=Py_ssize_t, count=Py_ssize_t, is_last=bint, descriptor=int)
    cpdef send(self)
    @cython.locals(outlets=Outlets)
    cpdef lose(self, error)
    @cython.locals(outlets=Outlets)
    cpdef _watch_room(self)
    cpdef _tell(self)
    cpdef _end_output(self)
    cpdef _drop(self)
    cpdef _fail(self, int number)
    @cython.locals(outlets=Outlets)
    cpdef _lose_soon(self)
