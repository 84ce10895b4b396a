cimport cython

from balancer.runtime cimport calls
from balancer.runtime.accepted cimport AcceptedSocket, whole

cdef bytearray MEMORY
cdef Py_ssize_t _AGAIN
cdef Py_ssize_t _INTERRUPTED
cdef Py_ssize_t _JOINED_BYTES
cdef long _ENDS
cdef long _READABLE
cdef long _WRITABLE
cdef long _INCOMING


cdef class TcpTransport


cdef class TcpTransports:
    cdef public object _epoll, _loop
    cdef public list _open
    cdef public TcpTransport unsent
    cdef public bytearray _ready
    cdef public bint is_serving
    @cython.locals(opened=list, descriptor=int, transport=TcpTransport)
    cpdef TcpTransport open(self, connection, protocol, Py_ssize_t peeked_most=*)
    cpdef forget(self, int descriptor)
    cpdef watch_room(self, int descriptor)
    cpdef _failed(self, TcpTransport transport, error)
    @cython.locals(transports=list, transport=TcpTransport, unsent=TcpTransport, before=TcpTransport)
    @cython.locals(number=int, descriptor=int, events=long, ready=bytearray)
    cpdef _serve(self)


cdef class TcpTransport:
    cdef public object _socket, _loop, _protocol
    cdef public int _descriptor
    cdef public Py_ssize_t _high, _low, _peeked_most, _sent, _size
    cdef public bint _is_at_end, _is_closing, _is_eof_wanted, _is_listed, _is_losing, _is_paused
    cdef public bint _is_reading, _is_room_watched, _reads_on
    cdef public TcpTransports _transports
    cdef public TcpTransport _unsent_before
    cdef public bytes _next
    cdef public list _following
    @cython.locals(transports=TcpTransports)
    cpdef write(self, bytes data)
    cpdef Py_ssize_t get_write_buffer_size(self) except -1
    cpdef bint is_closing(self)
    cpdef bint has_unread(self)
    cpdef close(self)
    cpdef abort(self)
    cpdef set_protocol(self, protocol)
    cpdef hand_to(self, protocol)
    cpdef serve(self, long events)
    @cython.locals(size=Py_ssize_t, count=Py_ssize_t)
    cpdef read(self)
    cpdef _peek(self)
    cpdef read_now(self)
    @cython.locals(following=list, data=bytes, start=Py_ssize_t, count=Py_ssize_t)
    cpdef send(self)
    cpdef _watch_room(self)
    cpdef _tell(self)
    cpdef _end_output(self)
    cpdef _drop(self)
    cpdef _fail(self, int number)
    cpdef _lose_soon(self, error)
    cpdef _lose(self, error)
