cimport cython

from balancer.runtime.deadlines cimport Deadlines
from balancer.runtime.tcp cimport TcpTransport
from balancer.runtime.tls cimport TlsTransport
from balancer.runtime.tls_sessions cimport TlsSession


cdef class TlsHandshake:
    cdef public Deadlines _deadlines
    cdef public object _over, _protocol, place
    cdef public bint closed, _is_cancelled, _is_full
    cdef public double deadline, next_look, _goodbye_seconds
    cdef public TcpTransport _tcp
    cdef public TlsSession _tls
    cpdef begin(self, TcpTransport tcp, tls, double until)
    cpdef read_now(self)
    cpdef cancel(self)
    @cython.locals(is_over=bint)
    cpdef buffer_updated(self, Py_ssize_t nbytes)
    @cython.locals(data=bytes)
    cpdef _flush(self)
    cpdef _fail(self)
    @cython.locals(transport=TlsTransport)
    cpdef _give_place(self)
    cpdef _end(self, bint failed)
