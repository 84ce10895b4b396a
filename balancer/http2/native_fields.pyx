"""Fields on their way to nghttp2 and from it."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_CheckExact, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.tuple cimport PyTuple_CheckExact, PyTuple_GET_ITEM, PyTuple_GET_SIZE
from libc.stdlib cimport realloc
from libc.string cimport memcmp

from balancer.http2.nghttp2 cimport NV_NO_INDEX

from ngh2 import NeverIndexedHeader

from balancer.http2.fields import NAMES, NEVER_ALIKE

cdef enum:
    FIELDS_A_BLOCK = 64
    REMEMBERED_BYTES = 4096  # of a block of fields; connections are many, and most of them idle

_make_tuple = tuple.__new__  # makes a named tuple in a tenth of the time that its class takes
cdef Py_ssize_t _block_size = 0
cdef unsigned long long _odd_sizes = 0  # a bit for each size of a name in NEVER_ALIKE


cdef Py_ssize_t put(tuple fields, bint is_head) except -1:
    """Puts fields into `block`, where the library reads them. Returns how many there are.

    `block` points into `fields`, so the caller has to keep them until the library has read. Of a head, those in
    NEVER_ALIKE are marked: the library does not index them.
    """
    global block, _block_size
    cdef Py_ssize_t count = len(fields), at
    cdef NameValue *each
    if count > _block_size:
        each = <NameValue *>realloc(block, max(count, <Py_ssize_t>FIELDS_A_BLOCK) * sizeof(NameValue))
        if each == NULL:
            raise MemoryError
        block = each
        _block_size = max(count, <Py_ssize_t>FIELDS_A_BLOCK)
    for at in range(count):
        each = &block[at]
        each.flags = _put_field(<object>PyTuple_GET_ITEM(fields, at), each)
        if is_head and each.namelen < 64 and _odd_sizes >> each.namelen & 1 and fields[at][0] in NEVER_ALIKE:
            each.flags = NV_NO_INDEX
    return count


cdef inline int _put_field(field, NameValue *to) except -1:
    """Lets `to` point to the name and the value of a field. Returns its flags."""
    cdef object name, value
    cdef bint is_plain = PyTuple_CheckExact(field)
    if not isinstance(field, tuple) or PyTuple_GET_SIZE(field) != 2:
        raise TypeError("each field must be a pair")
    name = <object>PyTuple_GET_ITEM(field, 0)
    value = <object>PyTuple_GET_ITEM(field, 1)
    if not PyBytes_CheckExact(name) or not PyBytes_CheckExact(value):
        raise TypeError("each field must be a pair of bytes")
    to.name = <uint8_t *>PyBytes_AS_STRING(name)
    to.namelen = PyBytes_GET_SIZE(name)
    to.value = <uint8_t *>PyBytes_AS_STRING(value)
    to.valuelen = PyBytes_GET_SIZE(value)
    return 0 if is_plain or not isinstance(field, NeverIndexedHeader) else NV_NO_INDEX


cdef int _note_sizes() except -1:
    global _odd_sizes
    for name in NEVER_ALIKE:
        _odd_sizes |= <unsigned long long>1 << <int>len(name)
    return 0


cdef class FieldBlock:
    """The block of fields that comes. Most of it comes again, so the last head and the last trailers are remembered.

    `wrong` says why a field was not taken.
    """

    def __init__(self, Py_ssize_t count_most, size_t bytes_most):
        """The most fields, and the most bytes of all with 32 for each."""
        self._count_most = count_most
        self._bytes_most = bytes_most
        self._alike = ()
        self._head = ()
        self._tail = ()
        self.wrong = ""

    cdef int begin(self, bint is_head) except -1:
        """Another block begins."""
        self._is_head = is_head
        self._alike = self._head if is_head else self._tail
        self._fields = None
        self._count = 0
        self._bytes = 0
        return 0

    cdef bint add(
        self, const uint8_t *name, size_t name_size, const uint8_t *value, size_t value_size, bint is_secret
    ) except -1:
        """Takes a field: most are those of the block before, at the same place. Returns whether there was room."""
        cdef Py_ssize_t at = self._count
        cdef object field
        cdef bytes one, other
        self._bytes += name_size + value_size + 32
        if self._bytes > self._bytes_most:
            self.wrong = "received header list exceeds configured size"
            return False
        if at >= self._count_most:
            self.wrong = "received header list exceeds configured count"
            return False
        self._count = at + 1
        if at < PyTuple_GET_SIZE(self._alike):
            field = <object>PyTuple_GET_ITEM(self._alike, at)
            if PyTuple_CheckExact(field) != is_secret and _equals(field, name, name_size, value, value_size):
                if self._fields is not None:
                    self._fields.append(field)
                return True
        if self._fields is None:
            self._fields = list(self._alike[:at])
        one = PyBytes_FromStringAndSize(<const char *>name, name_size)
        one = NAMES.get(one, one)
        other = PyBytes_FromStringAndSize(<const char *>value, value_size)
        self._fields.append(_make_tuple(NeverIndexedHeader, (one, other)) if is_secret else (one, other))
        return True

    cdef tuple end(self):
        """The fields of the block. One that equals the last is the same object."""
        cdef tuple fields
        if self._fields is None and self._count == len(self._alike):
            return self._alike
        fields = tuple(self._fields) if self._fields is not None else self._alike[: self._count]
        self._fields = None
        if self._bytes <= REMEMBERED_BYTES:
            if self._is_head:
                self._head = fields
            else:
                self._tail = fields
        return fields


cdef inline bint _equals(
    field, const uint8_t *name, size_t name_size, const uint8_t *value, size_t value_size
) noexcept:
    """Whether a field, which is a pair of bytes, has this name and this value."""
    cdef object one = <object>PyTuple_GET_ITEM(field, 0), other = <object>PyTuple_GET_ITEM(field, 1)
    return (
        <size_t>PyBytes_GET_SIZE(one) == name_size
        and <size_t>PyBytes_GET_SIZE(other) == value_size
        and memcmp(PyBytes_AS_STRING(other), value, value_size) == 0
        and memcmp(PyBytes_AS_STRING(one), name, name_size) == 0
    )


_note_sizes()
