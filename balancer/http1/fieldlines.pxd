cimport cython

from balancer.http cimport calls

cdef int LOGGED
cdef int LOOP
cdef int PASSES
cdef int REQUEST_ID
cdef int SPECIAL


cdef class KnownName:
    cdef public bytes beginning, lower, spelled
    cdef public bint is_shared
    cdef public int role


cdef class FieldLine:
    cdef public tuple field
    cdef public bytes name, onward
    cdef public int role
    cpdef bint is_logged(self) except -1
    @cython.locals(made=FieldLine, lower=bytes, before=bytes, onward=bytes)
    cpdef FieldLine with_value(self, bytes value)


cdef class FieldLines:
    cdef public list fields, lines, names, onward, special
    cdef public object request_id
    cpdef Py_ssize_t count(self) except -1
    cpdef list values(self, bytes name)


cdef class FieldLineReader:
    cdef public object _beginning_of, _kind
    cdef public dict _lines, _names
    cdef public frozenset _special
    cpdef FieldLines read(self, list texts)
    @cython.locals(text=bytes, line=FieldLine, lines=list, known=dict)
    cpdef list lines_of(self, list texts)
    @cython.locals(spelled=bytes, colon=Py_ssize_t, value=bytes, beginning=bytes, name=KnownName, lines=dict)
    @cython.locals(names=dict, line_bytes="const char*")
    cpdef FieldLine _new_line(self, bytes text)
    @cython.locals(lower=bytes, name=KnownName, names=dict)
    cpdef KnownName _new_name(self, bytes spelled)


@cython.locals(line=FieldLine, fields=list, names=list, onward=list, special=list, passes=Py_ssize_t)
cpdef FieldLines gathered(list lines)
@cython.locals(line=FieldLine)
cpdef bint are_logged(list lines) except -1
cpdef bint _has_doubtful_end(KnownName name, bytes text) except -1
cpdef bytes beginning_onward(bytes name, rules)
