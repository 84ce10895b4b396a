cdef extern from "<sys/socket.h>" nogil:
    enum: MSG_NOSIGNAL
    ssize_t _receive "recv"(int descriptor, void* into, size_t size, int flags)
    ssize_t _send "send"(int descriptor, const void* data, size_t size, int flags)

cdef extern from "<errno.h>" nogil:
    int errno


cdef inline Py_ssize_t receive(int descriptor, bytearray memory, Py_ssize_t size) noexcept:
    cdef char* into = memory
    cdef Py_ssize_t count = _receive(descriptor, into, size, 0)
    return count if count >= 0 else -errno


cdef inline Py_ssize_t send(int descriptor, bytes data, Py_ssize_t start) noexcept:
    cdef const char* whole = data
    cdef Py_ssize_t count = _send(descriptor, whole + start, len(data) - start, MSG_NOSIGNAL)
    return count if count >= 0 else -errno
