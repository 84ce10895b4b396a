cimport cython

from balancer.http cimport calls
from balancer.http.layouts cimport RequestHeadLayout
from balancer.http1.differing cimport differing_lines
from balancer.http1.drafts cimport HeadDraft, apply_special, is_ordinary, read_request_line, repeat_request_line
from balancer.http1.fieldlines cimport FieldLineReader, FieldLines, are_logged, gathered
from balancer.http1.replacing cimport fields_with, have_other_values, onward_with
from balancer.http.messages cimport Repeated
from balancer.model.layouts cimport ProxySettingsLayout


cdef class RepeatedLines(Repeated):
    cdef public tuple names, onward


cdef class RequestHeadReader:
    cdef public RequestHeadLayout _known
    cdef public bytes _known_line, _known_lines
    cdef public list _known_found
    cdef public FieldLineReader _line_reader
    cdef public tuple _known_onward
    cdef public object _passing
    cdef public ProxySettingsLayout _settings
    cdef public Py_ssize_t _shortest_limit
    cdef public bint keep_alive
    @cython.locals(known=RequestHeadLayout, known_line=bytes, line=bytes, lines=bytes, request=RequestHeadLayout)
    @cython.locals(line_bytes=Py_ssize_t, text="const char*")
    cpdef RequestHeadLayout recognise(self, bytes data)
    @cython.locals(method=bytes, target=bytes, raw_target=bytes, path=bytes)
    cpdef RequestHeadLayout _repeating(self, RequestHeadLayout known, bytes line, Py_ssize_t head_bytes, tuple fields, Repeated repeated)
    @cython.locals(texts=list, reader=FieldLineReader)
    cpdef RequestHeadLayout read(self, bytes head, list lines=*)
    @cython.locals(text="const char*", lines=list, line=bytes, differing=tuple, reader=FieldLineReader, texts=list)
    @cython.locals(before=Py_ssize_t, behind=Py_ssize_t, line_end=Py_ssize_t, others=list, known_lines=bytes)
    @cython.locals(known=RequestHeadLayout, request=RequestHeadLayout)
    cpdef RequestHeadLayout _with_other_lines(self, bytes data)
    @cython.locals(lines=list, onward=tuple, shared=RepeatedLines, fields=tuple, repeated=RepeatedLines)
    @cython.locals(request=RequestHeadLayout, text="const char*", number=Py_ssize_t)
    cpdef RequestHeadLayout _with_other_values(self, RequestHeadLayout known, bytes data, bytes line, Py_ssize_t before, list others)
    @cython.locals(draft=HeadDraft, method=bytes, fields=tuple, known=RequestHeadLayout, text="const char*")
    @cython.locals(is_remembered=bint, framing=cython.longlong, onward=tuple)
    cpdef RequestHeadLayout _read(self, bytes head, bytes line, FieldLines found)
    @cython.locals(pieces=list)
    cpdef tuple _onward(self, HeadDraft draft, FieldLines found)
