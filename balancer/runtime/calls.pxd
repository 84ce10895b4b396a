cdef extern from "<sys/socket.h>" nogil:
    enum: MSG_NOSIGNAL
    ssize_t _receive "recv"(int descriptor, void* into, size_t size, int flags)
    ssize_t _send "send"(int descriptor, const void* data, size_t size, int flags)

cdef extern from "<errno.h>" nogil:
    int errno

cdef extern from "<sys/epoll.h>" nogil:
    ctypedef union epoll_data_t:
        int fd
    cdef struct epoll_event:
        unsigned int events
        epoll_data_t data
    int _wait "epoll_wait"(int epoll, epoll_event* events, int most, int timeout)


cdef inline Py_ssize_t receive(int descriptor, bytearray memory, Py_ssize_t size) noexcept:
    cdef char* into = memory
    cdef Py_ssize_t count = _receive(descriptor, into, size, 0)
    return count if count >= 0 else -errno


cdef inline Py_ssize_t send(int descriptor, bytes data, Py_ssize_t start) noexcept:
    cdef const char* whole = data
    cdef Py_ssize_t count = _send(descriptor, whole + start, len(data) - start, MSG_NOSIGNAL)
    return count if count >= 0 else -errno


cdef inline bytearray room_for(int most):
    return bytearray(most * sizeof(epoll_event))


cdef inline int ready(epoll, bytearray room, int most) except -1:
    cdef char* memory = room
    cdef int count = _wait(epoll.fileno(), <epoll_event*>memory, most, 0)
    return count if count >= 0 else 0


cdef inline int descriptor_at(bytearray room, int number) noexcept:
    cdef char* memory = room
    return (<epoll_event*>memory)[number].data.fd


cdef inline unsigned int events_at(bytearray room, int number) noexcept:
    cdef char* memory = room
    return (<epoll_event*>memory)[number].events
