from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_New
from libc.string cimport memchr, memcmp, memcpy

cdef extern from "Python.h":
    PyObject* _item "PyTuple_GET_ITEM"(tuple items, Py_ssize_t place) noexcept
    void _put_item "PyTuple_SET_ITEM"(tuple items, Py_ssize_t place, PyObject* item) noexcept

cdef enum:
    LEAST_COMPARED = 0


cdef inline bint are_eight_alike(const char* one, const char* other) noexcept:
    cdef unsigned long long first, second
    memcpy(&first, one, 8)  # which becomes a load
    memcpy(&second, other, 8)
    return first == second


cdef inline Py_ssize_t alike_from_start(bytes one, bytes other, Py_ssize_t start) noexcept:
    cdef const char* first = one
    cdef const char* second = other
    cdef Py_ssize_t alike = 0
    cdef Py_ssize_t most = min(len(one), len(other) - start)
    second += start
    while alike + 8 <= most and are_eight_alike(first + alike, second + alike):
        alike += 8
    while alike < most and first[alike] == second[alike]:
        alike += 1
    return alike


cdef inline Py_ssize_t alike_to_end(bytes one, bytes other, Py_ssize_t most) noexcept:
    cdef const char* first = one
    cdef const char* second = other
    cdef Py_ssize_t alike = 0
    first += len(one)
    second += len(other)
    while alike + 8 <= most and are_eight_alike(first - alike - 8, second - alike - 8):
        alike += 8
    while alike < most and first[-alike - 1] == second[-alike - 1]:
        alike += 1
    return alike


cdef inline bint begins_with(bytes data, bytes beginning) noexcept:
    cdef const char* whole = data
    cdef const char* part = beginning
    return len(data) >= len(beginning) and memcmp(whole, part, len(beginning)) == 0


cdef inline bint ends_with(bytes data, bytes end) noexcept:
    cdef const char* whole = data
    cdef const char* part = end
    cdef Py_ssize_t before = len(data) - len(end)
    return before >= 0 and memcmp(whole + before, part, len(end)) == 0


cdef inline Py_ssize_t last_line_end(bytes data, Py_ssize_t stop) noexcept:
    cdef const char* text = data
    cdef Py_ssize_t place = stop - 2
    while place >= 0 and (text[place] != c"\r" or text[place + 1] != c"\n"):
        place -= 1
    return place if place >= 0 else -1


cdef inline Py_ssize_t next_line_end(bytes data, Py_ssize_t start) noexcept:
    cdef const char* text = data
    cdef Py_ssize_t place = start
    cdef Py_ssize_t last = len(data) - 2
    while place <= last and (text[place] != c"\r" or text[place + 1] != c"\n"):
        place += 1
    return place if place <= last else -1


cdef inline Py_ssize_t line_ends(bytes data, Py_ssize_t start, Py_ssize_t stop) noexcept:
    cdef const char* text = data
    cdef const char* place = text + start
    cdef const char* end = text + stop
    cdef Py_ssize_t found = 0
    while place < end:
        place = <const char*>memchr(place, c"\r", end - place)
        if place is NULL or place + 1 >= end:
            break
        place += 1
        if place[0] == c"\n":
            found += 1
    return found


cdef inline bint are_alike_around(
    bytes known, bytes data, Py_ssize_t start, Py_ssize_t before, Py_ssize_t rest
) noexcept:
    cdef const char* one = known
    cdef const char* other = data
    return (
        before + rest <= min(len(known), len(data) - start)
        and memcmp(one, other + start, before) == 0
        and memcmp(one + len(known) - rest, other + len(data) - rest, rest) == 0
    )


cdef inline bytes value_of(bytes name, bytes data, Py_ssize_t start, Py_ssize_t stop):
    cdef const char* text = data
    cdef const char* spelled = name
    cdef const unsigned char* value
    cdef Py_ssize_t size = len(name), at
    if stop - start <= size or memcmp(text + start, spelled, size) != 0 or text[start + size] != c":":
        return None
    start += size + 1
    while start < stop and (text[start] == c" " or text[start] == c"\t"):
        start += 1
    while start < stop and (text[stop - 1] == c" " or text[stop - 1] == c"\t"):
        stop -= 1
    value = <const unsigned char*>text + start
    for at in range(stop - start):
        if (value[at] < 32 and value[at] != 9) or value[at] == 127:
            return None
    return text[start:stop]


cdef inline bytes spliced(bytes data, Py_ssize_t start, Py_ssize_t stop, bytes piece):
    cdef Py_ssize_t size = len(piece), rest = len(data) - stop
    cdef bytes whole
    cdef char* place
    if not 0 <= start <= stop or rest < 0:
        raise IndexError
    whole = PyBytes_FromStringAndSize(NULL, start + size + rest)
    place = PyBytes_AS_STRING(whole)
    memcpy(place, PyBytes_AS_STRING(data), start)
    memcpy(place + start, PyBytes_AS_STRING(piece), size)
    memcpy(place + start + size, PyBytes_AS_STRING(data) + stop, rest)
    return whole


cdef inline tuple with_item(tuple items, Py_ssize_t place, item):
    cdef Py_ssize_t at
    cdef PyObject* each  # without a reference of its own, as both tuples have one
    cdef tuple made
    if not 0 <= place < len(items):
        raise IndexError
    made = PyTuple_New(len(items))
    for at in range(len(items)):
        each = <PyObject*>item if at == place else _item(items, at)
        Py_INCREF(<object>each)
        _put_item(made, at, each)
    return made


cdef inline bytes value_behind(bytes line, Py_ssize_t start):
    cdef const char* text = line
    cdef Py_ssize_t end = len(line)
    while start < end and (text[start] == c" " or text[start] == c"\t"):
        start += 1
    while start < end and (text[end - 1] == c" " or text[end - 1] == c"\t"):
        end -= 1
    return text[start:end]


cdef inline bint is_value(bytes value) noexcept:
    cdef const unsigned char* text = value
    cdef Py_ssize_t place
    for place in range(len(value)):
        if (text[place] < 32 and text[place] != 9) or text[place] == 127:
            return False
    return True


cdef inline bytes joined(tuple pieces):
    cdef Py_ssize_t size = 0
    cdef bytes piece, whole
    cdef char* place
    for piece in pieces:
        size += len(piece)
    whole = PyBytes_FromStringAndSize(NULL, size)
    place = PyBytes_AS_STRING(whole)
    for piece in pieces:
        memcpy(place, PyBytes_AS_STRING(piece), PyBytes_GET_SIZE(piece))
        place += PyBytes_GET_SIZE(piece)
    return whole
