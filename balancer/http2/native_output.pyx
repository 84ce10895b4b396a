"""The bytes that nghttp2 has for a transport, until they are handed on: one buffer for the connections of a process.

The buffer is the memory of an object of bytes. What is handed on is that object if it is much, and a copy if it is not.
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.ref cimport Py_DECREF
from libc.string cimport memcpy

cdef extern from "Python.h":
    PyObject *_new_bytes "PyBytes_FromStringAndSize"(const char *, Py_ssize_t) except NULL
    char *_inside "PyBytes_AS_STRING"(PyObject *)
    int _resize "_PyBytes_Resize"(PyObject **, Py_ssize_t) except -1

cdef enum:
    LEAST = 49152  # a write of `BYTES_A_WRITE`, and a frame more
    KEPT = 524288
    HANDED_ON = 4096  # from here on, a copy costs more than another object

cdef PyObject *_object = NULL
cdef size_t _size = 0
cdef size_t _used = 0


cdef int append(const uint8_t *data, size_t size) except -1:
    """Copies so many bytes behind the others."""
    memcpy(extend(size), data, size)
    return 0


cdef char *extend(size_t size) except NULL:
    """Makes room for so many bytes, which the caller has to write, and says where."""
    global _object, _size, _used
    cdef size_t wanted
    if _object == NULL:
        wanted = max(size, <size_t>LEAST)
        _object = _new_bytes(NULL, wanted)
        _size = wanted
        _used = 0
    elif _used + size > _size:
        wanted = max(2 * _size, _used + size)
        _size = 0  # a failure frees the object
        _resize(&_object, wanted)
        _size = wanted
    _used += size
    return _inside(_object) + _used - size


cdef bytes taken():
    """What is in the buffer, which is empty then."""
    global _object, _size, _used
    cdef size_t used = _used
    cdef PyObject *whole = _object
    cdef bytes said
    _used = 0
    if used < HANDED_ON:
        said = PyBytes_FromStringAndSize(_inside(whole), used) if used else b""
        if _size > KEPT:
            _drop()
        return said
    _object = NULL
    _size = 0
    _resize(&whole, used)
    said = <bytes>whole
    Py_DECREF(said)  # the reference that was the buffer's
    return said


cdef void _drop() noexcept:
    global _object, _size, _used
    cdef PyObject *dropped = _object
    _object = NULL
    _size = 0
    _used = 0
    if dropped != NULL:
        Py_DECREF(<object>dropped)


cdef size_t used() noexcept:
    """How many bytes are in the buffer."""
    return _used


cdef Held set_aside() noexcept:
    """Begins a turn. Returns the bytes of another connection's turn, which a search for garbage has interrupted."""
    global _object, _size, _used
    cdef Held held = Held(_object, _size, _used)
    if _used:
        _object = NULL
        _size = 0
        _used = 0
    return held


cdef void bring_back(Held held) noexcept:
    """Ends the turn that `set_aside` has begun: drops what is left in the buffer, and takes up `held` again."""
    global _object, _size, _used
    _used = 0
    if held.used:
        _drop()
        _object = held.object
        _size = held.size
        _used = held.used
