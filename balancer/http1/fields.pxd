cimport cython

from balancer.http cimport calls
from balancer.http.layouts cimport HeadEditLayout, RequestHeadLayout, ResponseHeadLayout
from balancer.http.memos cimport Memo, recalled
from balancer.http.origin cimport Origin
from balancer.http.streams cimport Outgoing
from balancer.http1.heads cimport RepeatedLines
from balancer.http1.layouts cimport Http1ResponseLayout


cdef class OriginLines(Memo):
    cdef public bytes lines


cdef class LinesOfAnother(Memo):
    cdef public RepeatedLines lines


cdef class WrittenHead(Memo):
    cdef public bint chunked, keep_alive
    cdef public HeadEditLayout edit
    cdef public bytes head
    cdef public str protocol


cdef class ResponseOfAnother(Memo):
    cdef public object response


@cython.locals(origin=Origin, about=OriginLines, lines=RepeatedLines, head=bytes, method=bytes, request=RequestHeadLayout)
@cython.locals(is_usual=bint, known=tuple, request_id=bytes)
cpdef bytes endpoint_request_head(Outgoing outgoing)
@cython.locals(method=bytes, request=RequestHeadLayout)
cdef bytes _with_more(bytes head, Outgoing outgoing)
@cython.locals(name=bytes)
cdef bint _has_line(RequestHeadLayout request, frozenset names) except -1
@cython.locals(lowered=bytes, name=bytes, line=bytes, begun=Py_ssize_t, end=Py_ssize_t)
cdef bytes _without_lines(bytes head, frozenset names)
@cython.locals(known=OriginLines)
cdef OriginLines _origin_lines(Origin origin)
@cython.locals(known=LinesOfAnother)
cpdef RepeatedLines lines_of(RequestHeadLayout request)
@cython.locals(written=WrittenHead)
cpdef bytes client_response_head(ResponseHeadLayout response, str protocol, bint chunked, bint keep_alive, HeadEditLayout edit)
cpdef bytes interim_response(ResponseHeadLayout response)
cpdef bytes switching_response(ResponseHeadLayout response, HeadEditLayout edit)
@cython.locals(parts=list, name=bytes, value=bytes)
cdef bytes _lines(tuple fields)
