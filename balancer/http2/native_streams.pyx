"""The streams of a connection of nghttp2: their states, and the bodies that are sent on them."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.string cimport memcpy

from collections import deque


cdef class Stream:
    """A stream that was reported, and the body that is sent on it. `owed`: bytes that came and were not given back."""

    cdef int add(self, bytes data) except -1:
        self.size += len(data)
        if self.first is None:
            self.first = data
        else:
            if self.rest is None:
                self.rest = deque()
            self.rest.append(data)
        return 0

    cdef int copy(self, char *to, Py_ssize_t most) except -1:
        """Moves so many bytes, which must be there."""
        cdef Py_ssize_t count
        cdef bytes piece
        self.size -= most
        while most:
            piece = self.first
            count = min(PyBytes_GET_SIZE(piece) - self.at, most)
            memcpy(to, PyBytes_AS_STRING(piece) + self.at, count)
            to += count
            most -= count
            self.at += count
            if self.at == PyBytes_GET_SIZE(piece):
                self.at = 0
                self.first = self.rest.popleft() if self.rest else None
        return 0

    cdef int drop(self) except -1:
        self.has_body = False
        self.size = 0
        self.at = 0
        self.first = None
        self.rest = None
        self.trailers = None
        return 0


cdef class Streams:
    """The streams that were reported and are not gone, and the bytes of gone ones that were not given back."""

    def __cinit__(self):
        self._by_number = {}
        self._left = {}
        self._recent_number = -1

    cdef Stream begin(self, long number):
        cdef Stream stream = Stream.__new__(Stream)
        self._by_number[number] = stream
        self._recent = stream
        self._recent_number = number
        return stream

    cdef Stream find(self, long number):
        """The stream, or None. The one that was found last is remembered, because most are asked for again at once."""
        cdef Stream stream
        if number == self._recent_number:
            return self._recent
        stream = self._by_number.get(number)
        if stream is not None:
            self._recent = stream
            self._recent_number = number
        return stream

    cdef Stream end(self, long number):
        """Forgets the stream. Returns it, or None if it was not reported."""
        cdef Stream stream = self._by_number.pop(number, None)
        if number == self._recent_number:
            self._recent = None
            self._recent_number = -1
        if not self._by_number:
            self._by_number.clear()  # gives its table back
        if stream is not None and stream.owed:
            self._left[number] = stream.owed
        return stream

    cdef int came(self, long number, Py_ssize_t size) except -1:
        """So many bytes came, which have to be given back."""
        cdef Stream stream = self.find(number)
        if stream is not None:
            stream.owed += size
        else:
            self.leave(number, self.left(number) + size)
        return 0

    cdef Py_ssize_t left(self, long number) except -1:
        """The bytes of a stream that is gone which were not given back."""
        return self._left.get(number, 0)

    cdef int leave(self, long number, Py_ssize_t size) except -1:
        """So many bytes of a stream that is gone have to be given back from now on."""
        if size:
            self._left[number] = size
        else:
            self._left.pop(number, None)
        return 0

    cdef int drop_bodies(self) except -1:
        """No body is sent any more."""
        cdef Stream stream
        for stream in self._by_number.values():
            stream.drop()
        return 0
