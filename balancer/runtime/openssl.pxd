# The functions of OpenSSL that a session calls, as pointers. The library is the one that Python's `ssl` has loaded;
# nothing is linked. Types are opaque, and numbers are those of ssl.h and bio.h, which have kept them since 1.1.1.

ctypedef void Ssl
ctypedef void Bio
ctypedef void BioMethod

cdef enum:
    WANT_READ = 2  # SSL_ERROR_…
    ZERO_RETURN = 6
    CTRL_MODE = 33  # SSL_CTRL_MODE
    NO_AUTO_CHAIN = 8  # SSL_MODE_NO_AUTO_CHAIN


cdef struct Wire:
    # The bytes between a session and its peer: those that came, from `at` on, and those that are to leave.
    char *input
    size_t input_size
    size_t at
    char *output
    size_t output_size
    size_t used
    bint is_lent  # `output` is memory of somebody else, which is not freed here


cdef int (*ssl_do_handshake)(Ssl *) noexcept
cdef int (*ssl_read)(Ssl *, void *, int) noexcept
cdef int (*ssl_write)(Ssl *, const void *, int) noexcept
cdef int (*ssl_shutdown)(Ssl *) noexcept
cdef int (*ssl_pending)(const Ssl *) noexcept
cdef int (*ssl_get_error)(const Ssl *, int) noexcept
cdef void *(*ssl_get_ex_data)(const Ssl *, int) noexcept
cdef long (*ssl_ctrl)(Ssl *, int, long, void *) noexcept
cdef void (*ssl_set_bio)(Ssl *, Bio *, Bio *) noexcept
cdef int (*bio_free)(Bio *) noexcept
cdef int (*bio_up_ref)(Bio *) noexcept
cdef unsigned long (*err_peek)() noexcept
cdef void (*err_clear)() noexcept

cdef void forget_newest() noexcept
cdef Ssl *newest() noexcept
cdef Bio *new_bio(Wire **wire) except NULL
cdef char *extend(Wire *wire, size_t size) noexcept nogil
