from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.string cimport memcpy

cdef extern from "Python.h":
    const char* PyUnicode_AsUTF8AndSize(object text, Py_ssize_t* size) except NULL

cdef enum:
    LINE_MOST = 2048
    _NUMBERS_MOST = 256  # bytes of all numbers, and of the names before them


cdef inline char* _put(char* place, const char* text, Py_ssize_t size) noexcept:
    memcpy(place, text, size)
    return place + size


cdef inline char* _put_number(char* place, unsigned long long number, int least) noexcept:
    cdef char digits[20]
    cdef int count = 0
    while number or count < least:
        count += 1
        digits[20 - count] = <char>(48 + number % 10)
        number //= 10
    return _put(place, digits + 20 - count, count)


cdef inline bytes json_line(
    str start, str opening, long status, Py_ssize_t request_bytes, Py_ssize_t response_bytes, long micros,
    long endpoint_micros, str names, bytes request_id, str rest, Py_ssize_t head_bytes, str closing
):
    cdef char line[LINE_MOST + _NUMBERS_MOST]
    cdef char* place = line
    cdef Py_ssize_t start_bytes = 0, opening_bytes = 0, names_bytes = 0, rest_bytes = 0, closing_bytes = 0
    cdef const char* start_text = PyUnicode_AsUTF8AndSize(start, &start_bytes)
    cdef const char* opening_text = PyUnicode_AsUTF8AndSize(opening, &opening_bytes)
    cdef const char* names_text = PyUnicode_AsUTF8AndSize(names, &names_bytes)
    cdef const char* rest_text = PyUnicode_AsUTF8AndSize(rest, &rest_bytes)
    cdef const char* closing_text = PyUnicode_AsUTF8AndSize(closing, &closing_bytes)
    if start_bytes + opening_bytes + names_bytes + len(request_id) + rest_bytes + closing_bytes > LINE_MOST:
        return b""
    place = _put(place, start_text, start_bytes)
    place = _put(place, opening_text, opening_bytes)
    place = _put_number(place, status, 1)
    place = _put(place, b',"bytes_in":', 12)
    place = _put_number(place, request_bytes, 1)
    place = _put(place, b',"bytes_out":', 13)
    place = _put_number(place, response_bytes, 1)
    place = _put(place, b',"duration":0.', 14)
    place = _put_number(place, micros, 6)
    place = _put(place, b',"endpoint_duration":0.', 23)
    place = _put_number(place, endpoint_micros, 6)
    place = _put(place, names_text, names_bytes)
    place = _put(place, PyBytes_AS_STRING(request_id), PyBytes_GET_SIZE(request_id))
    place = _put(place, rest_text, rest_bytes)
    place = _put_number(place, head_bytes, 1)
    place = _put(place, closing_text, closing_bytes)
    return line[:place - line] if place - line <= LINE_MOST else b""
