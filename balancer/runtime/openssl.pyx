"""OpenSSL itself: finds the functions of the library that Python's `ssl` has loaded, and carries bytes to and from it.

Only compiled builds have it (docs/adr/0050-openssl-itself.md). Does not know connections. A module that imports this one
fails with `ImportError` where the library does not export its functions, as where it is a part of the interpreter.
"""

from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy
from posix.dlfcn cimport RTLD_NOW, dlopen, dlsym

import _ssl

cdef extern from *:
    """
    static __thread void *zonal_newest_session = NULL;
    """
    void *_newest "zonal_newest_session"

cdef enum:
    INDEX_OF_SESSIONS = 0  # CRYPTO_EX_INDEX_SSL
    FLUSH = 11  # BIO_CTRL_FLUSH
    READ_AGAIN = 0x01 | 0x08  # BIO_FLAGS_READ, BIO_FLAGS_SHOULD_RETRY
    EVERY_RETRY = 0x0F  # those, BIO_FLAGS_WRITE and BIO_FLAGS_IO_SPECIAL
    SOURCE_AND_SINK = 0x0400  # BIO_TYPE_SOURCE_SINK
    LEAST = 4096

ctypedef void (*OnMade)(void *, void *, void *, int, long, void *) noexcept nogil
ctypedef void (*SetCallback)(BioMethod *, void *) noexcept

cdef void *_library = NULL
cdef BioMethod *_method = NULL
cdef Bio *(*_bio_new)(BioMethod *) noexcept
cdef void (*_bio_set_data)(Bio *, void *) noexcept
cdef void *(*_bio_get_data)(Bio *) noexcept nogil
cdef void (*_bio_set_flags)(Bio *, int) noexcept nogil
cdef void (*_bio_clear_flags)(Bio *, int) noexcept nogil


cdef int _bind(void **pointer, bytes name) except -1:
    """Finds a function of OpenSSL. Raises `ImportError`."""
    pointer[0] = dlsym(_library, name)
    if pointer[0] == NULL:
        raise ImportError(f"the OpenSSL of ssl does not export {name.decode()}")
    return 0


cdef int _load() except -1:
    """Finds what is called. Raises `ImportError`."""
    global _library
    path = getattr(_ssl, "__file__", None)
    if path is None:
        raise ImportError("ssl is a part of the interpreter")
    _library = dlopen(path.encode(), RTLD_NOW)
    if _library == NULL:
        raise ImportError(f"{path} cannot be opened")
    _bind(<void **>&ssl_do_handshake, b"SSL_do_handshake")
    _bind(<void **>&ssl_read, b"SSL_read")
    _bind(<void **>&ssl_write, b"SSL_write")
    _bind(<void **>&ssl_shutdown, b"SSL_shutdown")
    _bind(<void **>&ssl_pending, b"SSL_pending")
    _bind(<void **>&ssl_get_error, b"SSL_get_error")
    _bind(<void **>&ssl_get_ex_data, b"SSL_get_ex_data")
    _bind(<void **>&ssl_ctrl, b"SSL_ctrl")
    _bind(<void **>&ssl_set_bio, b"SSL_set_bio")
    _bind(<void **>&bio_free, b"BIO_free")
    _bind(<void **>&bio_up_ref, b"BIO_up_ref")
    _bind(<void **>&err_peek, b"ERR_peek_error")
    _bind(<void **>&err_clear, b"ERR_clear_error")
    _bind(<void **>&_bio_new, b"BIO_new")
    _bind(<void **>&_bio_set_data, b"BIO_set_data")
    _bind(<void **>&_bio_get_data, b"BIO_get_data")
    _bind(<void **>&_bio_set_flags, b"BIO_set_flags")
    _bind(<void **>&_bio_clear_flags, b"BIO_clear_flags")
    _make_method()
    _watch()
    return 0


cdef int _make_method() except -1:
    """Makes the kind of BIO that reads and writes a `Wire`."""
    global _method
    cdef int (*new_index)() noexcept
    cdef BioMethod *(*new_method)(int, const char *) noexcept
    cdef SetCallback setter
    new_index = NULL
    new_method = NULL
    setter = NULL
    _bind(<void **>&new_index, b"BIO_get_new_index")
    _bind(<void **>&new_method, b"BIO_meth_new")
    _method = new_method(new_index() | SOURCE_AND_SINK, b"zonal")
    if _method == NULL:
        raise MemoryError
    _bind(<void **>&setter, b"BIO_meth_set_read")
    setter(_method, <void *>_on_read)
    _bind(<void **>&setter, b"BIO_meth_set_write")
    setter(_method, <void *>_on_write)
    _bind(<void **>&setter, b"BIO_meth_set_ctrl")
    setter(_method, <void *>_on_control)
    _bind(<void **>&setter, b"BIO_meth_set_destroy")
    setter(_method, <void *>_on_end)
    return 0


cdef int _watch() except -1:
    """Hears of every session that the library makes from now on: Python does not say where that of an object is."""
    cdef int (*new_index)(int, long, void *, OnMade, void *, void *) noexcept
    new_index = NULL
    _bind(<void **>&new_index, b"CRYPTO_get_ex_new_index")
    if new_index(INDEX_OF_SESSIONS, 0, NULL, _on_made, NULL, NULL) < 0:
        raise MemoryError
    return 0


cdef void _on_made(void *session, void *_value, void *_values, int _index, long _number, void *_pointer) noexcept nogil:
    global _newest
    _newest = session


cdef void forget_newest() noexcept:
    """Until this thread makes a session, there is no newest one."""
    global _newest
    _newest = NULL


cdef Ssl *newest() noexcept:
    """The session that this thread has made last. It may be freed: ask right after it was made."""
    return _newest


cdef Bio *new_bio(Wire **wire) except NULL:
    """A BIO with a wire of its own, which lives as long."""
    cdef Bio *bio
    wire[0] = <Wire *>calloc(1, sizeof(Wire))
    if wire[0] == NULL:
        raise MemoryError
    bio = _bio_new(_method)
    if bio == NULL:
        free(wire[0])
        raise MemoryError
    _bio_set_data(bio, wire[0])
    return bio


cdef char *extend(Wire *wire, size_t size) noexcept nogil:
    """Makes room for so many bytes that are to leave, which the caller has to write, and says where. NULL: no memory."""
    cdef size_t wanted = wire.used + size
    cdef char *larger
    if wanted > wire.output_size:
        wanted = max(wanted, 2 * wire.output_size, <size_t>LEAST)
        if wire.is_lent:
            larger = <char *>malloc(wanted)
            if larger != NULL:
                memcpy(larger, wire.output, wire.used)
        else:
            larger = <char *>realloc(wire.output, wanted)
        if larger == NULL:
            return NULL
        wire.is_lent = False
        wire.output = larger
        wire.output_size = wanted
    wire.used += size
    return wire.output + wire.used - size


# What the library calls, perhaps without the lock of the interpreter.


cdef int _on_read(Bio *bio, char *to, int most) noexcept nogil:
    cdef Wire *wire = <Wire *>_bio_get_data(bio)
    cdef size_t size = wire.input_size - wire.at
    _bio_clear_flags(bio, EVERY_RETRY)
    if most <= 0:
        return 0
    if not size:
        _bio_set_flags(bio, READ_AGAIN)
        return -1
    if size > <size_t>most:
        size = most
    memcpy(to, wire.input + wire.at, size)
    wire.at += size
    if wire.at == wire.input_size:
        free(wire.input)
        wire.input = NULL
        wire.input_size = 0
        wire.at = 0
    return <int>size


cdef int _on_write(Bio *bio, const char *data, int size) noexcept nogil:
    cdef char *to
    _bio_clear_flags(bio, EVERY_RETRY)
    if size <= 0:
        return 0
    to = extend(<Wire *>_bio_get_data(bio), size)
    if to == NULL:
        return -1
    memcpy(to, data, size)
    return size


cdef long _on_control(Bio *_bio, int command, long _number, void *_pointer) noexcept nogil:
    return command == FLUSH


cdef int _on_end(Bio *bio) noexcept nogil:
    cdef Wire *wire = <Wire *>_bio_get_data(bio)
    if wire != NULL:
        free(wire.input)
        if not wire.is_lent:
            free(wire.output)
        free(wire)
    return 1


_load()
