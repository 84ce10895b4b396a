"""nghttp2 itself: finds the functions that the library inside of ngh2 exports, and what connections tell them.

Only compiled builds have it (docs/adr/0046-own-binding.md). Does not know engines. A module that imports this one fails
with `ImportError` where ngh2 is not the one that was tried.
"""

from posix.dlfcn cimport RTLD_NOW, dlopen, dlsym

from ngh2 import __version__ as ngh2_version
from ngh2 import _core

from balancer.http2.ngh2_settings import MANY

VERSION = "0.3.0"
"""Of ngh2. The engine was tried with the behaviour and the structs of its nghttp2, which is 1.70.0."""

cdef void *_library = NULL
cdef dict _made = {}  # by the number of CONTINUATIONs, which alone a setting may change


cdef int _bind(void **pointer, bytes name) except -1:
    """Finds a function of nghttp2. Raises `ImportError`."""
    pointer[0] = dlsym(_library, name)
    if pointer[0] == NULL:
        raise ImportError(f"ngh2 does not export {name.decode()}")
    return 0


cdef int set_callback(bytes name, void *callback) except -1:
    """Lets every session that is made from now on call this. Raises `ImportError`."""
    cdef SetCallback setter = NULL
    _bind(<void **>&setter, b"nghttp2_session_callbacks_set_" + name)
    setter(callbacks, callback)
    return 0


cdef int _load() except -1:
    """Finds what is called, in the library that ngh2 has loaded. Raises `ImportError`."""
    global _library
    cdef bytes path = _core.__file__.encode()
    cdef int (*callbacks_new)(Callbacks **) noexcept
    if ngh2_version != VERSION:
        raise ImportError(f"ngh2 is {ngh2_version}, and the engine was tried with {VERSION}")
    _library = dlopen(path, RTLD_NOW)
    if _library == NULL:
        raise ImportError(f"{_core.__file__} of ngh2 cannot be opened")
    _bind(<void **>&session_send, b"nghttp2_session_send")
    _bind(<void **>&session_want_read, b"nghttp2_session_want_read")
    _bind(<void **>&session_want_write, b"nghttp2_session_want_write")
    _bind(<void **>&session_check_request_allowed, b"nghttp2_session_check_request_allowed")
    _bind(<void **>&session_get_last_proc_stream_id, b"nghttp2_session_get_last_proc_stream_id")
    _bind(<void **>&session_get_remote_window_size, b"nghttp2_session_get_remote_window_size")
    _bind(<void **>&submit_shutdown_notice, b"nghttp2_submit_shutdown_notice")
    _bind(<void **>&session_resume_data, b"nghttp2_session_resume_data")
    _bind(<void **>&session_get_stream_remote_window_size, b"nghttp2_session_get_stream_remote_window_size")
    _bind(<void **>&session_get_stream_local_close, b"nghttp2_session_get_stream_local_close")
    _bind(<void **>&session_del, b"nghttp2_session_del")
    _bind(<void **>&session_mem_recv2, b"nghttp2_session_mem_recv2")
    _bind(<void **>&session_consume, b"nghttp2_session_consume")
    _bind(<void **>&session_set_local_window_size, b"nghttp2_session_set_local_window_size")
    _bind(<void **>&session_change_urgency, b"nghttp2_session_change_extpri_stream_priority")
    _bind(<void **>&submit_settings, b"nghttp2_submit_settings")
    _bind(<void **>&submit_request2, b"nghttp2_submit_request2")
    _bind(<void **>&submit_response2, b"nghttp2_submit_response2")
    _bind(<void **>&submit_headers, b"nghttp2_submit_headers")
    _bind(<void **>&submit_trailer, b"nghttp2_submit_trailer")
    _bind(<void **>&submit_rst_stream, b"nghttp2_submit_rst_stream")
    _bind(<void **>&submit_ping, b"nghttp2_submit_ping")
    _bind(<void **>&submit_goaway, b"nghttp2_submit_goaway")
    _bind(<void **>&error_text, b"nghttp2_strerror")
    _bind(<void **>&session_client_new2, b"nghttp2_session_client_new2")
    _bind(<void **>&session_server_new2, b"nghttp2_session_server_new2")
    callbacks_new = NULL
    _bind(<void **>&callbacks_new, b"nghttp2_session_callbacks_new")
    if callbacks_new(&callbacks):
        raise MemoryError
    return 0


cdef Option *options(size_t continuations) except NULL:
    """What the library is told of connections whose header blocks may have so many CONTINUATIONs, made once."""
    known = _made.get(continuations)
    if known is None:
        known = _made[continuations] = <size_t>_new_options(continuations)
    return <Option *><size_t>known


cdef Option *_new_options(size_t continuations) except NULL:
    """What the library is told of a connection: no bounds below those that zonal counts itself."""
    cdef int (*option_new)(Option **) noexcept
    cdef Option *option = NULL
    cdef SetNumber number = NULL
    cdef SetSize size = NULL
    cdef SetRate rate = NULL
    cdef SetKind kind = NULL
    option_new = NULL
    _bind(<void **>&option_new, b"nghttp2_option_new")
    if option_new(&option):
        raise MemoryError
    for name, value in (
        (b"no_auto_window_update", 1),
        (b"peer_max_concurrent_streams", 1),
        (b"max_reserved_remote_streams", 200),
    ):
        _bind(<void **>&number, b"nghttp2_option_set_" + name)
        number(option, value)
    for name, value in (
        (b"max_send_header_block_length", 65536),
        (b"max_deflate_dynamic_table_size", 4096),
        (b"max_outbound_ack", 1000),
        (b"max_settings", 32),
        (b"max_continuations", continuations),
    ):
        _bind(<void **>&size, b"nghttp2_option_set_" + name)
        size(option, value)
    for name in (b"stream_reset_rate_limit", b"glitch_rate_limit"):
        _bind(<void **>&rate, b"nghttp2_option_set_" + name)
        rate(option, MANY[0], MANY[1])
    _bind(<void **>&kind, b"nghttp2_option_set_builtin_recv_extension_type")
    for value in (FRAME_ALTSVC, FRAME_ORIGIN, FRAME_PRIORITY_UPDATE):
        kind(option, value)
    return option


_load()
