from balancer.http.messages cimport Repeated


cdef class RepeatedLines(Repeated):
    cdef public tuple names, onward


cdef class _Draft:
    cdef public bytes authority, host_name, method, path, raw_target, target, upgrade
    cdef public tuple connection_options
    cdef public bint expects_continue, keep_alive
    cdef public long long framing
    cdef public int minor


cdef class Tokens:
    cdef public bint complete
    cdef public list fields, names
    cdef public bytes reason
    cdef public dict special
    cdef public frozenset special_names
    cpdef clear(self)
    cpdef on_header(self, bytes name, bytes value)
    cpdef on_status(self, bytes reason)
    cpdef on_message_complete(self)
    cpdef Py_ssize_t count(self) except -1
    cpdef list values(self, bytes name)


cdef class RequestHeadReader:
    cdef public object _known, _parser, _settings
    cdef public bytes _known_lines
    cdef public Py_ssize_t _shortest_limit
    cdef public Tokens _tokens
    cdef public bint keep_alive
    cpdef recognise(self, bytes data)
    cpdef read(self, bytes head)
    cpdef _read_request_line(self, bytes line, _Draft draft)
    cpdef Tokens _tokenise(self, bytes head)


cpdef bint _is_ordinary(_Draft draft) except -1
cpdef _apply_special(_Draft draft, Tokens tokens)
cpdef _apply_rare(_Draft draft, Tokens tokens)
cpdef _apply_target(_Draft draft, bytes host)
cpdef tuple options_in(list values)
