"""A session with OpenSSL itself: what `TlsSession` does, without the buffers and the errors of Python's `ssl`.

Only compiled builds have it (docs/adr/0050-openssl-itself.md). The session is made by `ssl`, which also chooses its
context and says goodbye; here it gets another way for its bytes, and goes on. The peer's bytes are copied once, and
what OpenSSL encrypts is written into the object that the transport sends.
"""

cimport cython
from cpython.bytearray cimport PyByteArray_AS_STRING
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.object cimport PyObject
from cpython.ref cimport Py_DECREF
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcpy
from posix.time cimport CLOCK_THREAD_CPUTIME_ID, clock_gettime, timespec

from balancer.runtime.openssl cimport (
    CTRL_MODE,
    NO_AUTO_CHAIN,
    WANT_READ,
    ZERO_RETURN,
    Bio,
    Ssl,
    Wire,
    bio_free,
    bio_up_ref,
    err_clear,
    err_peek,
    forget_newest,
    new_bio,
    newest,
    ssl_ctrl,
    ssl_do_handshake,
    ssl_get_error,
    ssl_get_ex_data,
    ssl_pending,
    ssl_read,
    ssl_set_bio,
    ssl_shutdown,
    ssl_write,
)
from balancer.runtime.tls_sessions cimport TlsSession

import ssl

from balancer.runtime.reading import MEMORY as _MEMORY

cdef extern from "Python.h":
    PyObject *_new_bytes "PyBytes_FromStringAndSize"(const char *, Py_ssize_t) except NULL
    char *_inside "PyBytes_AS_STRING"(PyObject *)
    int _resize "_PyBytes_Resize"(PyObject **, Py_ssize_t) except -1

cdef enum:
    OBJECT_OF_SESSION = 0  # where `ssl` notes the object of a session (SSL_set_app_data)
    A_RECORD = 16384
    BESIDE = 128  # what a record takes beside its content, in every version and cipher, and more

cdef double TOLD_SECONDS = 0.001  # far below what is dear, and above what a usual handshake takes

cdef bytearray MEMORY = _MEMORY  # whose size never changes: there is a view of it


cdef double _thread_seconds() noexcept:
    cdef timespec now
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now)
    return now.tv_sec + now.tv_nsec * 1e-9


def make_session(tls):
    """A session of the server side. Where `tls` makes one of another library, that is left as it is."""
    cdef Ssl *made
    forget_newest()
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    ssl_object = tls.wrap_bio(incoming, outgoing, server_side=True)
    made = newest()
    inner = getattr(ssl_object, "_sslobj", None)
    if made == NULL or inner is None or ssl_get_ex_data(made, OBJECT_OF_SESSION) != <void *>inner:
        return TlsSession(ssl_object, incoming, outgoing)
    return _taken_over(ssl_object, inner, made)


cdef NativeTlsSession _taken_over(ssl_object, inner, Ssl *made):
    cdef NativeTlsSession session = NativeTlsSession.__new__(NativeTlsSession)  # which needs no way through `ssl`
    session.ssl_object = ssl_object
    session._inner = inner
    session._on_cost = getattr(ssl_object, "took", None)
    session._bio = new_bio(&session._wire)
    session._ssl = made
    bio_up_ref(session._bio)  # one reference is the session's, one that of OpenSSL, which drops the buffers of `ssl`
    ssl_set_bio(made, session._bio, session._bio)
    # A certificate without a chain is shown alone. OpenSSL would look for its issuers in a store that is empty.
    ssl_ctrl(made, CTRL_MODE, NO_AUTO_CHAIN, NULL)
    return session


@cython.no_gc_clear
cdef class NativeTlsSession(TlsSession):
    """A session, and the wire between it and its peer. `_inner` is the object of `ssl` that owns it.

    `_on_cost` hears, in parts, how many seconds of CPU time the handshake takes, if anybody does. It hears nothing of a
    handshake that is cheap, as nearly every one is.
    """

    cdef object _inner, _on_cost
    cdef double _untold_seconds
    cdef Ssl *_ssl
    cdef Bio *_bio
    cdef Wire *_wire
    cdef PyObject *_lent  # the object whose memory the wire was lent

    def __cinit__(self):
        self._ssl = NULL
        self._bio = NULL
        self._wire = NULL
        self._lent = NULL

    def __dealloc__(self):
        self._end_loan()
        if self._bio != NULL:
            bio_free(self._bio)

    cdef int _end_loan(self) noexcept:
        cdef Wire *wire = self._wire
        cdef PyObject *lent = self._lent
        if lent != NULL:
            self._lent = NULL
            if wire.is_lent:
                self._empty()
            Py_DECREF(<object>lent)
        return 0

    cdef int _empty(self) noexcept:
        """Nothing is to leave, and the wire has no memory for that."""
        cdef Wire *wire = self._wire
        wire.is_lent = False
        wire.output = NULL
        wire.output_size = 0
        wire.used = 0
        return 0

    cpdef hear(self, Py_ssize_t nbytes):
        cdef Wire *wire = self._wire
        cdef size_t left = wire.input_size - wire.at
        cdef char *memory
        if nbytes <= 0 or nbytes > len(MEMORY):
            raise ValueError("no bytes of the buffer")
        if wire.at:  # what is left comes first
            memory = <char *>malloc(left + nbytes)
            if memory != NULL:
                memcpy(memory, wire.input + wire.at, left)
                free(wire.input)
        else:
            memory = <char *>realloc(wire.input, left + nbytes)
        if memory == NULL:
            raise MemoryError
        memcpy(memory + left, PyByteArray_AS_STRING(MEMORY), nbytes)
        wire.input = memory
        wire.input_size = left + nbytes
        wire.at = 0

    cpdef bint has_input(self) except -1:
        return self._wire.input_size > 0 or ssl_pending(self._ssl) > 0

    cpdef bint has_output(self) except -1:
        return self._wire.used > 0

    cpdef Py_ssize_t read_into(self, Py_ssize_t at, Py_ssize_t size) except -2:
        cdef int result
        if at < 0 or size <= 0 or size > len(MEMORY) - at:
            raise ValueError("no part of the buffer")
        if err_peek():
            err_clear()
        result = ssl_read(self._ssl, PyByteArray_AS_STRING(MEMORY) + at, <int>size)
        return result if result > 0 else self._outcome(result)

    cpdef Py_ssize_t encrypt(self, bytes data, Py_ssize_t start, Py_ssize_t size) except -2:
        cdef int result
        if start < 0 or size <= 0 or size > len(MEMORY) or size > PyBytes_GET_SIZE(data) - start:
            raise ValueError("no part of the data")
        if err_peek():
            err_clear()
        if self._wire.output == NULL:
            self._lend(size + BESIDE * (2 + size // A_RECORD))
        result = ssl_write(self._ssl, PyBytes_AS_STRING(data) + start, <int>size)
        if result <= 0:
            result = <int>self._outcome(result)
            if not result:
                raise ssl.SSLZeroReturnError(ZERO_RETURN, "the session is over")
        return result

    cpdef bint shake(self) except -1:
        cdef int result
        cdef Py_ssize_t outcome = 1
        cdef double started = _thread_seconds()
        if err_peek():
            err_clear()
        result = ssl_do_handshake(self._ssl)
        try:
            if result != 1:
                outcome = self._outcome(result)
        finally:
            if self._on_cost is not None:
                self._untold_seconds += _thread_seconds() - started
                if self._untold_seconds > TOLD_SECONDS:
                    self._tell_cost()
        if not outcome:
            raise ssl.SSLZeroReturnError(ZERO_RETURN, "the session is over")
        return outcome == 1

    cpdef bint say_goodbye(self) except -1:
        cdef int result
        if err_peek():
            err_clear()
        result = ssl_shutdown(self._ssl)
        if not result and self.has_input():
            result = ssl_shutdown(self._ssl)  # now it reads what the peer has said
        return result > 0 or (result < 0 and not self._outcome(result))

    cdef _tell_cost(self):
        cdef double seconds = self._untold_seconds
        self._untold_seconds = 0
        self._on_cost(seconds)

    cdef Py_ssize_t _outcome(self, int result) except -2:
        """-1: more of the peer is needed. 0: it has said goodbye. Raises ssl.SSLError."""
        cdef int kind = ssl_get_error(self._ssl, result)
        if kind == WANT_READ:
            return -1
        if kind == ZERO_RETURN:
            return 0
        err_clear()
        raise ssl.SSLError(kind, "TLS failed")

    cdef int _lend(self, Py_ssize_t size) except -1:
        """Lets the wire write into an object of its own, which `take` hands on."""
        cdef Wire *wire = self._wire
        self._end_loan()
        self._lent = _new_bytes(NULL, size)
        wire.output = _inside(self._lent)
        wire.output_size = size
        wire.used = 0
        wire.is_lent = True
        return 0

    cpdef bytes take(self):
        cdef Wire *wire = self._wire
        cdef PyObject *lent
        cdef bytes said
        cdef size_t used = wire.used
        if wire.is_lent and used:
            lent = self._lent
            self._lent = NULL
            self._empty()
            _resize(&lent, used)
            said = <bytes>lent
            Py_DECREF(said)  # the reference that was the wire's
            return said
        if not wire.is_lent and wire.output != NULL:
            said = PyBytes_FromStringAndSize(wire.output, used)
            free(wire.output)
            self._empty()
        else:
            said = b""
        self._end_loan()
        return said
