"""The bytes that nghttp2 has for a transport, until they are handed on: one buffer for the connections of a process."""

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy

cdef enum:
    LEAST = 65536
    KEPT = 524288

cdef char *_memory = NULL
cdef size_t _size = 0
cdef size_t _used = 0


cdef int append(const uint8_t *data, size_t size) except -1:
    """Copies so many bytes behind the others."""
    memcpy(extend(size), data, size)
    return 0


cdef char *extend(size_t size) except NULL:
    """Makes room for so many bytes, which the caller has to write, and says where."""
    global _memory, _size, _used
    cdef size_t wanted
    cdef char *larger
    if _used + size > _size or _memory == NULL:
        wanted = max(2 * _size, _used + size, <size_t>LEAST)
        larger = <char *>realloc(_memory, wanted)
        if larger == NULL:
            raise MemoryError
        _memory = larger
        _size = wanted
    _used += size
    return _memory + _used - size


cdef bytes taken():
    """What is in the buffer, which is empty then."""
    global _memory, _size, _used
    cdef bytes said = PyBytes_FromStringAndSize(_memory, _used) if _used else b""
    _used = 0
    if _size > KEPT:
        free(_memory)
        _memory = NULL
        _size = 0
    return said


cdef size_t used() noexcept:
    """How many bytes are in the buffer."""
    return _used


cdef Held set_aside() noexcept:
    """Begins a turn. Returns the bytes of another connection's turn, which a search for garbage has interrupted."""
    global _memory, _size, _used
    cdef Held held = Held(_memory, _size, _used)
    if _used:
        _memory = NULL
        _size = 0
        _used = 0
    return held


cdef void bring_back(Held held) noexcept:
    """Ends the turn that `set_aside` has begun: drops what is left in the buffer, and takes up `held` again."""
    global _memory, _size, _used
    _used = 0
    if held.used:
        free(_memory)
        _memory = held.memory
        _size = held.size
        _used = held.used
