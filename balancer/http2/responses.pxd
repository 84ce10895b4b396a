cimport cython

from balancer.http.layouts cimport HeadEditLayout, ResponseHeadLayout
from balancer.http.memos cimport Memo, recalled
from balancer.http.messages cimport Written
from balancer.http2.fields cimport check_fields, trailers_of


cdef class WrittenFields(Memo):
    cdef public object body_bytes, edit
    cdef public tuple fields


cdef class ResponseReader:
    cdef public ResponseHeadLayout _known
    cdef public tuple _known_fields, _known_trailer_fields, _known_trailers
    cdef public bint _known_ends, _known_is_to_head
    @cython.locals(known=ResponseHeadLayout, is_to_head=bint)
    cpdef ResponseHeadLayout read(self, tuple fields, bytes method, bint ends)
    cpdef tuple trailers(self, tuple fields)


@cython.locals(written=WrittenFields)
cpdef tuple client_fields(ResponseHeadLayout head, HeadEditLayout edit)
