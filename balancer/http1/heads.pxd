cimport cython

from balancer.http cimport calls
from balancer.http.layouts cimport RequestHeadLayout
from balancer.http1.differing cimport differing_lines
from balancer.http1.drafts cimport HeadDraft, apply_special, is_ordinary, read_request_line, repeat_request_line
from balancer.http1.fieldlines cimport FieldLine, FieldLineReader, FieldLines, are_logged, gathered
from balancer.http1.replacing cimport LinePlace, fields_with, have_other_values, onward_with
from balancer.http.messages cimport Repeated
from balancer.model.layouts cimport ProxySettingsLayout

cdef Py_ssize_t _REMEMBERED_MOST


cdef class RepeatedLines(Repeated):
    cdef public tuple names, onward
    @cython.locals(made=RepeatedLines)
    cdef RepeatedLines with_values(self, tuple onward)


cdef class RequestHeadReader:
    cdef public RequestHeadLayout _known
    cdef public bytes _known_line, _known_lines
    cdef public list _known_found
    cdef public FieldLineReader _line_reader
    cdef public tuple _known_onward
    cdef public object _passing
    cdef public LinePlace _place
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
    @cython.locals(known=RequestHeadLayout, line=bytes, lines=list, place=LinePlace, before=FieldLine, value=bytes)
    cpdef RequestHeadLayout _with_other_lines(self, bytes data)
    @cython.locals(lines=list, differing=tuple, reader=FieldLineReader, texts=list, before=Py_ssize_t, behind=Py_ssize_t)
    @cython.locals(start=Py_ssize_t, rest=Py_ssize_t, others=list, place=LinePlace, request=RequestHeadLayout)
    cpdef RequestHeadLayout _with_differing_lines(self, RequestHeadLayout known, bytes data, bytes line)
    @cython.locals(lines=list, onward=tuple, shared=RepeatedLines, fields=tuple, repeated=RepeatedLines, written=bytes)
    @cython.locals(request=RequestHeadLayout, number=Py_ssize_t, end=Py_ssize_t)
    @cython.locals(before=FieldLine)
    cpdef RequestHeadLayout _with_other_value(self, RequestHeadLayout known, bytes data, bytes line, LinePlace place, FieldLine other)
    @cython.locals(lines=list, onward=tuple, shared=RepeatedLines, fields=tuple, repeated=RepeatedLines)
    @cython.locals(request=RequestHeadLayout, number=Py_ssize_t)
    cpdef RequestHeadLayout _with_other_values(self, RequestHeadLayout known, bytes data, bytes line, Py_ssize_t before, list others)
    @cython.locals(draft=HeadDraft, method=bytes, fields=tuple, known=RequestHeadLayout)
    @cython.locals(is_remembered=bint, framing=cython.longlong, onward=tuple)
    cpdef RequestHeadLayout _read(self, bytes head, bytes line, FieldLines found)
    @cython.locals(text="const char*")
    cdef _remember(self, RequestHeadLayout request, bytes head, bytes line, tuple onward)
    @cython.locals(pieces=list)
    cpdef tuple _onward(self, HeadDraft draft, FieldLines found)


@cython.locals(line=bytes, line_end=Py_ssize_t, text="const char*")
cdef bytes _plain_line_of(bytes data)
