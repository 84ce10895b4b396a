cimport cython

from balancer.http.consumers cimport ResponseConsumer
from balancer.http.streams cimport EndpointStream, Outgoing, Pool
from balancer.http1 cimport fields
from balancer.http1.chunked cimport ChunkedDecoder
from balancer.http1.collecting cimport HeadCollector
from balancer.http1.layouts cimport Http1ResponseLayout
from balancer.http1.responses cimport ResponseHeadReader
from balancer.runtime cimport calls
from balancer.runtime.tcp cimport TcpTransport

cdef bytearray MEMORY
cdef Py_ssize_t CHUNKED
cdef Py_ssize_t UNDECIDED
cdef Py_ssize_t UNTIL_CLOSE


cdef class EndpointConnection


cdef class Keeper(Pool):
    cpdef give_back(self, EndpointConnection connection)
    cpdef lost(self, EndpointConnection connection)


cdef class EndpointConnection(EndpointStream):
    cdef public HeadCollector _collector
    cdef public ResponseConsumer _consumer
    cdef public ChunkedDecoder _decoder
    cdef public bint _eof, _is_chunking, _is_sending, _may_read_little, _reading_paused, closed, reusable
    cdef public long long _framing, _left
    cdef public long _interims, requests
    cdef public Keeper _keeper
    cdef public object _transport, place
    cdef public bytes _method, _upgrade
    cdef public ResponseHeadReader _reader
    cdef public TcpTransport _tcp
    cdef public double deadline, idle_since, next_look
    cpdef abort(self)
    cpdef bint is_failing(self) except -1
    cpdef expire(self)
    @cython.locals(collector=HeadCollector, reader=ResponseHeadReader, known=Http1ResponseLayout, text="const char*")
    cpdef data_received(self, bytes data)
    cpdef bint _start_large(self, long nbytes)
    @cython.locals(tcp=TcpTransport)
    cpdef _write(self, bytes data)
    cpdef _fail(self, kind)
    cpdef _take_heads(self)
    @cython.locals(framing="long long")
    cpdef _start_response(self, Http1ResponseLayout response, bytes data)
    cpdef _start_tunnel(self, Http1ResponseLayout response)
    cpdef _take_body(self, bytes data)
    cpdef tuple _decode(self, bytes data, ChunkedDecoder decoder)
    cpdef _end(self, tuple trailers)
