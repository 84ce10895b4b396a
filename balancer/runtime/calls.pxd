cdef extern from "<sys/socket.h>" nogil:
    enum: MSG_NOSIGNAL, MSG_DONTWAIT, MSG_MORE, MSG_PEEK, SHUT_WR, SOCK_NONBLOCK, SOCK_CLOEXEC, AF_INET, AF_INET6
    ctypedef unsigned int socklen_t
    cdef struct sockaddr:
        unsigned short sa_family
    cdef struct sockaddr_storage:
        pass
    int _accept4 "accept4"(int listener, sockaddr* address, socklen_t* size, int flags)
    ssize_t _receive "recv"(int descriptor, void* into, size_t size, int flags)
    ssize_t _send "send"(int descriptor, const void* data, size_t size, int flags)
    int _shutdown "shutdown"(int descriptor, int how)
    int getsockopt(int descriptor, int level, int name, void* value, socklen_t* size)

cdef extern from "<netinet/in.h>" nogil:
    cdef struct in_addr:
        pass
    cdef struct sockaddr_in:
        in_addr sin_addr
    cdef struct in6_addr:
        unsigned char s6_addr[16]
    cdef struct sockaddr_in6:
        in6_addr sin6_addr
    enum: INET6_ADDRSTRLEN
    enum: IPPROTO_TCP
    bint IN6_IS_ADDR_V4MAPPED(in6_addr* address)

cdef extern from "<netinet/tcp.h>" nogil:
    enum: TCP_INFO
    cdef struct tcp_info:
        unsigned int tcpi_unacked

cdef extern from "<arpa/inet.h>" nogil:
    const char* inet_ntop(int family, const void* address, char* text, socklen_t size)

cdef extern from "<unistd.h>" nogil:
    int _close "close"(int descriptor)

cdef extern from "<errno.h>" nogil:
    int errno
    enum: EAGAIN

cdef extern from "<sys/epoll.h>" nogil:
    ctypedef union epoll_data_t:
        int fd
    cdef struct epoll_event:
        unsigned int events
        epoll_data_t data
    int _wait "epoll_wait"(int epoll, epoll_event* events, int most, int timeout)


cdef inline Py_ssize_t receive(int descriptor, bytearray memory, piece, Py_ssize_t size) noexcept:
    cdef char* into = memory
    cdef Py_ssize_t count = _receive(descriptor, into, size, 0)
    return count if count >= 0 else -errno


cdef inline bytes taken(bytearray memory, Py_ssize_t nbytes):
    cdef const char* start = memory
    return start[:nbytes]


cdef inline bint has_unread(int descriptor) noexcept:
    cdef char byte
    return _receive(descriptor, &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0 or errno != EAGAIN


cdef inline Py_ssize_t send(int descriptor, bytes data, Py_ssize_t start) noexcept:
    cdef const char* whole = data
    cdef Py_ssize_t count = _send(descriptor, whole + start, len(data) - start, MSG_NOSIGNAL)
    return count if count >= 0 else -errno


cdef inline Py_ssize_t send_last(int descriptor, bytes data, Py_ssize_t start) noexcept:
    # The kernel keeps the last packet back, and FIN leaves with it. A close alone would drop it if the peer has said
    # more that nobody has read.
    cdef const char* whole = data
    cdef Py_ssize_t size = len(data) - start
    cdef Py_ssize_t count = _send(descriptor, whole + start, size, MSG_NOSIGNAL | MSG_MORE)
    if count == size:
        _shutdown(descriptor, SHUT_WR)
    return count if count >= 0 else -errno


cdef inline bytearray room_for(int most):
    return bytearray(most * sizeof(epoll_event))


cdef inline int ready(epoll, bytearray room, int most) except -1:
    cdef char* memory = room
    cdef int count = _wait(epoll.fileno(), <epoll_event*>memory, most, 0)
    return count if count >= 0 else 0


cdef inline (int, unsigned int) event_at(bytearray room, int number) noexcept:
    cdef char* memory = room
    return (<epoll_event*>memory)[number].data.fd, (<epoll_event*>memory)[number].events


cdef inline int waiting(listener) except -1:
    cdef tcp_info info
    cdef socklen_t size = sizeof(info)
    info.tcpi_unacked = 0
    getsockopt(listener.fileno(), IPPROTO_TCP, TCP_INFO, &info, &size)
    return <int>info.tcpi_unacked or 1


cdef inline bytearray room_for_peer():
    return bytearray(sizeof(sockaddr_storage))


cdef inline int accept(listener, bytearray room) except? -1:
    cdef char* memory = room
    cdef socklen_t size = sizeof(sockaddr_storage)
    cdef int descriptor = _accept4(listener.fileno(), <sockaddr*>memory, &size, SOCK_NONBLOCK | SOCK_CLOEXEC)
    return descriptor if descriptor >= 0 else -errno


cdef inline str peer_of(bytearray room):
    cdef char* memory = room
    cdef char text[INET6_ADDRSTRLEN]
    cdef in6_addr* address
    text[0] = 0
    if (<sockaddr*>memory).sa_family == AF_INET:
        inet_ntop(AF_INET, &(<sockaddr_in*>memory).sin_addr, text, INET6_ADDRSTRLEN)
    elif (<sockaddr*>memory).sa_family == AF_INET6:
        address = &(<sockaddr_in6*>memory).sin6_addr
        if IN6_IS_ADDR_V4MAPPED(address):
            inet_ntop(AF_INET, address.s6_addr + 12, text, INET6_ADDRSTRLEN)
        else:
            inet_ntop(AF_INET6, address, text, INET6_ADDRSTRLEN)
    return text.decode("ascii")


cdef inline int close(int descriptor) noexcept:
    return _close(descriptor)


cdef inline bytes peek(connection, bytearray memory, Py_ssize_t size):
    cdef char* into = memory
    cdef Py_ssize_t count = _receive(connection.fileno(), into, size, MSG_PEEK | MSG_DONTWAIT)
    return into[:count] if count > 0 else b""
