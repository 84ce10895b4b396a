# The functions of nghttp2 that the engine calls, as pointers. The library is the one inside of ngh2, which exports them;
# nothing is linked. Structs and numbers are those of nghttp2.h, which has kept them since 1.0 (soname 14).

from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t

ctypedef void Session
ctypedef void Callbacks
ctypedef void Option

ctypedef struct FrameHead:
    size_t length
    int32_t stream_id
    uint8_t type
    uint8_t flags
    uint8_t reserved

ctypedef struct PrioritySpec:
    int32_t stream_id
    int32_t weight
    uint8_t exclusive

ctypedef struct NameValue:
    uint8_t *name
    uint8_t *value
    size_t namelen
    size_t valuelen
    uint8_t flags

ctypedef struct SettingsEntry:
    int32_t settings_id
    uint32_t value

ctypedef union DataSource:
    int fd
    void *ptr

ctypedef Py_ssize_t (*ReadBody)(Session *, int32_t, uint8_t *, size_t, uint32_t *, DataSource *, void *) noexcept

ctypedef struct DataProvider:
    DataSource source
    ReadBody read_callback

ctypedef struct DataFrame:
    FrameHead hd
    size_t padlen

ctypedef struct HeadersFrame:
    FrameHead hd
    size_t padlen
    PrioritySpec pri_spec
    NameValue *nva
    size_t nvlen
    int cat

ctypedef struct ResetFrame:
    FrameHead hd
    uint32_t error_code

ctypedef struct SettingsFrame:
    FrameHead hd
    size_t niv
    SettingsEntry *iv

ctypedef struct PingFrame:
    FrameHead hd
    uint8_t opaque_data[8]

ctypedef struct GoawayFrame:
    FrameHead hd
    int32_t last_stream_id
    uint32_t error_code
    uint8_t *opaque_data
    size_t opaque_data_len
    uint8_t reserved

ctypedef union Frame:
    FrameHead hd
    DataFrame data
    HeadersFrame headers
    ResetFrame rst_stream
    SettingsFrame settings
    PingFrame ping
    GoawayFrame goaway

ctypedef struct Urgency:
    uint32_t urgency
    int inc

cdef enum:
    ERR_INVALID_STREAM_STATE = -514
    ERR_WOULDBLOCK = -504
    ERR_DEFERRED = -508
    ERR_STREAM_CLOSED = -510
    ERR_STREAM_CLOSING = -511
    ERR_STREAM_SHUT_WR = -512
    ERR_TEMPORAL_CALLBACK_FAILURE = -521
    ERR_SESSION_CLOSING = -530
    ERR_NOMEM = -901
    ERR_CALLBACK_FAILURE = -902
    FRAME_DATA = 0
    FRAME_HEADERS = 1
    FRAME_RST_STREAM = 3
    FRAME_SETTINGS = 4
    FRAME_PING = 6
    FRAME_GOAWAY = 7
    FRAME_WINDOW_UPDATE = 8
    FRAME_ALTSVC = 10
    FRAME_ORIGIN = 12
    FRAME_PRIORITY_UPDATE = 16
    FLAG_END_STREAM = 1
    FLAG_ACK = 1
    NV_NO_INDEX = 1
    BODY_EOF = 1
    BODY_NO_END_STREAM = 2
    BODY_NO_COPY = 4
    CAT_REQUEST = 0
    CAT_RESPONSE = 1
    CODE_INTERNAL_ERROR = 2

ctypedef int (*OfSession)(Session *) noexcept
ctypedef int (*OfStream)(Session *, int32_t) noexcept
ctypedef void (*SetCallback)(Callbacks *, void *) noexcept
ctypedef void (*SetSize)(Option *, size_t) noexcept
ctypedef void (*SetNumber)(Option *, uint32_t) noexcept
ctypedef void (*SetKind)(Option *, uint8_t) noexcept
ctypedef void (*SetRate)(Option *, uint64_t, uint64_t) noexcept
ctypedef int (*MakeSession)(Session **, const Callbacks *, void *, const Option *) noexcept

cdef OfSession session_send, session_want_read, session_want_write, session_check_request_allowed
cdef OfSession session_get_last_proc_stream_id, session_get_remote_window_size, submit_shutdown_notice
cdef OfStream session_resume_data, session_get_stream_remote_window_size, session_get_stream_local_close
cdef void (*session_del)(Session *) noexcept
cdef Py_ssize_t (*session_mem_recv2)(Session *, const uint8_t *, size_t) noexcept
cdef int (*session_consume)(Session *, int32_t, size_t) noexcept
cdef int (*session_set_local_window_size)(Session *, uint8_t, int32_t, int32_t) noexcept
cdef int (*session_change_urgency)(Session *, int32_t, const Urgency *, int) noexcept
cdef int (*submit_settings)(Session *, uint8_t, const SettingsEntry *, size_t) noexcept
cdef int32_t (*submit_request2)(
    Session *, const PrioritySpec *, const NameValue *, size_t, const DataProvider *, void *
) noexcept
cdef int (*submit_response2)(Session *, int32_t, const NameValue *, size_t, const DataProvider *) noexcept
cdef int32_t (*submit_headers)(
    Session *, uint8_t, int32_t, const PrioritySpec *, const NameValue *, size_t, void *
) noexcept
cdef int (*submit_trailer)(Session *, int32_t, const NameValue *, size_t) noexcept
cdef int (*submit_rst_stream)(Session *, uint8_t, int32_t, uint32_t) noexcept
cdef int (*submit_ping)(Session *, uint8_t, const uint8_t *) noexcept
cdef int (*submit_goaway)(Session *, uint8_t, int32_t, uint32_t, const uint8_t *, size_t) noexcept
cdef const char *(*error_text)(int) noexcept
cdef MakeSession session_client_new2, session_server_new2

cdef Callbacks *callbacks

cdef int set_callback(bytes name, void *callback) except -1
cdef Option *options(size_t continuations) except NULL
