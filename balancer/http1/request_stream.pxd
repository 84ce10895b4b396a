cimport cython

from balancer.connections.unread cimport Unread
from balancer.http.layouts cimport RequestHeadLayout
from balancer.http.streams cimport ClientStream
from balancer.http1.chunked cimport ChunkedDecoder, encode_chunk, encode_last_chunk
from balancer.http1.fields cimport client_response_head, interim_response, switching_response
from balancer.runtime.tcp cimport TcpTransport


cdef class Carrier:
    cdef public bint ending, eof
    cpdef next_request(self)
    cpdef close(self, bint expected=*)
    cpdef bytes take_rest(self)
    cpdef put_back(self, bytes data)
    cpdef put_off(self, bint is_put_off)
    cpdef pause_reading(self)
    cpdef resume_reading(self)
    cpdef data_received(self, bytes data)
    cpdef abort(self)


cdef class Http1RequestStream(ClientStream):
    cdef public object _body_bytes, _consumer, _transport
    cdef public Carrier _connection
    cdef public Unread _unread_bound
    cdef public ChunkedDecoder _decoder
    cdef public bint _goes_on, _is_body_whole, _is_chunking, _is_tunnel, _keep_alive, is_unread
    cdef public Py_ssize_t _left
    cdef public str _protocol, peer
    cdef public bytes _put_off_data
    cdef public TcpTransport _tcp
    cpdef open(self, transport, origin)
    cpdef begin(self, RequestHeadLayout request, bint keep_alive, bint last)
    cpdef begin_refused(self)
    cpdef bint take(self, bytes data) except -1
    cpdef bint takes_body(self) except -1
    cpdef feed(self, bytes data)
    cpdef end_of_input(self)
    cpdef end_tunnel(self)
    cpdef connection_lost(self)
    cpdef pause_writing(self)
    cpdef resume_writing(self)
    @cython.locals(tcp=TcpTransport)
    cpdef _write(self, bytes data)
    cpdef _flow(self, Carrier connection)
    cpdef _feed_chunked(self, bytes data, ChunkedDecoder decoder, consumer)
    cpdef _cut_short(self)
