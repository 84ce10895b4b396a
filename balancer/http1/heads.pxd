cimport cython

from balancer.http.layouts cimport RequestHeadLayout
from balancer.http1.fieldlines cimport FieldLineReader, FieldLines
from balancer.http.messages cimport Repeated
from balancer.model.layouts cimport ProxySettingsLayout


cdef class RepeatedLines(Repeated):
    cdef public tuple names, onward


cdef class _Draft:
    cdef public bytes authority, host_name, method, path, raw_target, target, upgrade
    cdef public tuple connection_options
    cdef public bint expects_continue, keep_alive
    cdef public long long framing
    cdef public int minor


cdef class RequestHeadReader:
    cdef public RequestHeadLayout _known
    cdef public bytes _known_line, _known_lines
    cdef public FieldLineReader _line_reader
    cdef public object _passing
    cdef public ProxySettingsLayout _settings
    cdef public Py_ssize_t _shortest_limit
    cdef public bint keep_alive
    @cython.locals(known=RequestHeadLayout, line=bytes, lines=bytes, path=bytes, text="const char*")
    cpdef RequestHeadLayout recognise(self, bytes data)
    @cython.locals(texts=list, draft=_Draft, reader=FieldLineReader, found=FieldLines, method=bytes, fields=tuple)
    @cython.locals(known=RequestHeadLayout, line=bytes, text="const char*")
    @cython.locals(is_remembered=bint, framing=cython.longlong)
    cpdef RequestHeadLayout read(self, bytes head, list lines=*)
    cpdef tuple _onward(self, _Draft draft, FieldLines found)


cpdef _repeat_request_line(RequestHeadLayout known, _Draft draft)
@cython.locals(path=bytes)
cpdef _read_request_line(bytes line, _Draft draft)
cpdef bint _is_ordinary(_Draft draft) except -1
@cython.locals(special=list)
cpdef _apply_special(_Draft draft, FieldLines found, RequestHeadLayout known)
cpdef _apply_rare(_Draft draft, FieldLines found)
cpdef _apply_host(_Draft draft, bytes host, RequestHeadLayout known)
cpdef _apply_target(_Draft draft)
cpdef tuple options_in(list values)
