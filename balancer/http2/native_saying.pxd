from libc.stdint cimport int32_t, uint8_t, uint32_t

from balancer.http2.nghttp2 cimport DataSource, Session

cdef int speak() except -1
cdef Py_ssize_t read_body(
    Session *_session, int32_t number, uint8_t *buffer, size_t most, uint32_t *flags, DataSource *source, void *user
) noexcept
