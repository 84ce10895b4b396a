"""A session of nghttp2: how it begins, and how it ends. `native_engine` is what others use."""

from cpython.bytes cimport PyBytes_FromStringAndSize

from balancer.http2.nghttp2 cimport (
    ERR_CALLBACK_FAILURE,
    ERR_NOMEM,
    MakeSession,
    SettingsEntry,
    callbacks,
    error_text,
    options,
    session_client_new2,
    session_del,
    session_server_new2,
    session_set_local_window_size,
    session_want_read,
    session_want_write,
    submit_settings,
)

from balancer.http2.engine import SERVER
from balancer.http2.events import DATA, FAULT
from balancer.http2.frames import PREFACE, Frames, goaway_frame
from balancer.http2.ngh2_settings import WINDOW_BYTES, settings_of


cdef class NativeSession(Engine):
    """One session, and what its callbacks work with."""

    def __cinit__(self):
        self._session = NULL
        self._events = []
        self._streams = Streams()
        self._said = b""
        self._why = b""
        self._over = False

    def __init__(self, role, limits):
        cdef MakeSession make
        if self._session != NULL:
            raise RuntimeError("made twice")
        self._is_server = role is SERVER
        self.frames = Frames(PREFACE if self._is_server else b"")
        self._counts = Budgets(limits, is_server=self._is_server)
        self.budgets = self._counts
        self._uploads = Uploads(0 if self._is_server else WINDOW_BYTES)
        self._block = FieldBlock(2 * limits.header_fields, 2 * limits.header_list_bytes)
        self.peer_max_streams = 1
        make = session_server_new2 if self._is_server else session_client_new2
        if make(&self._session, callbacks, <void *>self, options(limits.continuations)):
            raise MemoryError
        self._say_first(settings_of(role, limits), limits.connection_window)

    cdef int _say_first(self, dict settings, long window) except -1:
        cdef SettingsEntry entries[8]
        cdef size_t count = 0
        for name, value in settings.items():
            entries[count].settings_id = name
            entries[count].value = value
            count += 1
        if submit_settings(self._session, 0, entries, count):
            raise MemoryError
        if window > WINDOW_BYTES and session_set_local_window_size(self._session, 0, 0, window):
            raise MemoryError
        return 0

    def __dealloc__(self):
        if self._session != NULL:
            session_del(self._session)

    cdef _report(self, tuple event):
        if self._run is not None:
            self._end_run()
        self._events.append(event)

    cdef _report_data(self, int32_t number, bytes data, bint ends):
        """A frame of data came. Those that follow each other are one event: a message of gRPC takes 100 bytes."""
        if self._run is not None:
            if self._run_of == number:
                if self._run_rest is None:
                    self._run_rest = []
                self._run_rest.append(data)
                self._run_ends = ends
                return
            self._end_run()
        self._run = data
        self._run_of = number
        self._run_ends = ends

    cdef _end_run(self):
        cdef bytes data = self._run
        cdef list rest = self._run_rest
        self._run = None
        if rest is not None:
            self._run_rest = None
            rest.insert(0, data)
            data = b"".join(rest)
        self._events.append((DATA, self._run_of, data, self._run_ends))

    cdef _note_goaway(self, const GoawayFrame *frame):
        """Somebody ends the connection: from now on its end is looked for."""
        self._is_closing = True
        self._code = frame.error_code
        self._why = PyBytes_FromStringAndSize(<const char *>frame.opaque_data, frame.opaque_data_len)

    cdef _look_for_end(self):
        """Ends the connection if the library neither reads nor writes any more."""
        if self._over or session_want_read(self._session) or session_want_write(self._session):
            return
        self._over = True
        self._drop_bodies()
        if self._is_left:
            self._report((FAULT, 0, 0, ""))
        else:
            self._report((FAULT, 0, self._code, self._why.decode("latin-1")))

    cdef _drop_bodies(self):
        cdef Streams streams = self._streams
        streams.drop_bodies()
        self._queued = 0
        self._piece = None

    cdef _stop(self, Py_ssize_t result, long long code):
        """The library failed, or a callback of ours did. Raises what nobody expected."""
        failure = self._failure
        self._failure = None
        self._drop_bodies()
        if isinstance(failure, BaseException):
            self._over = True
            raise failure
        if result == ERR_NOMEM:
            self._over = True
            raise MemoryError
        if failure is None:
            failure = "HTTP/2 engine did not consume all input" if result >= 0 else error_of(result)
        self._break_off(code, failure)

    cdef _break_off(self, long long code, str why):
        """End a connection of which the library is done. A GOAWAY needs no state, so it is written here."""
        self._over = True
        self._said += goaway_frame(self._last, code)
        self._report((FAULT, 0, code, why))


cdef int failed(NativeSession session, error) noexcept:
    """What a callback returns that failed. `error` is noted for `_stop`, which whoever called the library calls."""
    session._failure = error
    return ERR_CALLBACK_FAILURE


cdef str error_of(int result):
    return f"HTTP/2 engine error: {error_text(result).decode('ascii')}"
