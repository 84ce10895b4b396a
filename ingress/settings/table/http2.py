"""Options about HTTP/2 to clients, which only the operator sets for the whole data plane.

Responsible for the options. It must not know HTTP/2.
"""

from __future__ import annotations

from balancer.model.settings import Http2Engine, Http2Settings
from ingress.settings.table.option import cluster_option, cluster_switch
from ingress.settings.values import InvalidValue, Word, integer, size

_HEAD_BYTES_LEAST, _HEAD_BYTES_MOST = 4 * 1024, 1024 * 1024
_UNREAD_BYTES_LEAST = 1024 * 1024


def head_bytes(text: str) -> int:
    """A size from 4k, which browsers need, to 1m."""
    number = size(text)
    if not _HEAD_BYTES_LEAST <= number <= _HEAD_BYTES_MOST:
        raise InvalidValue("use a size from 4k to 1m")
    return number


def unread_bytes(text: str) -> int:
    """A size from 1m: less would break off answers of clients that read."""
    number = size(text)
    if number < _UNREAD_BYTES_LEAST:
        raise InvalidValue("use a size of at least 1m")
    return number


HTTP2_OPTIONS = (
    cluster_switch(
        name="use-http2",
        fills=(Http2Settings, "enabled"),
        default="true",
        doc='TLS clients that offer HTTP/2 are spoken to in it; `"false"`: in HTTP/1.1 only ([HTTP/2](http2.md))',
    ),
    cluster_switch(
        name="http2-cleartext",
        fills=(Http2Settings, "cleartext"),
        doc="clients without TLS may begin with HTTP/2 as well (prior knowledge, RFC 9113 3.3; never by Upgrade)",
    ),
    cluster_option(
        name="http2-engine",
        fills=(Http2Settings, "engine"),
        grammar=Word({engine.value: engine for engine in Http2Engine}),
        default="ngh2",
        doc="the library that does the frames: `ngh2` (nghttp2, fast) or `h2` (hyper-h2, pure Python). New connections"
        " have it",
    ),
    cluster_option(
        name="http2-max-concurrent-streams",
        fills=(Http2Settings, "streams"),
        grammar=integer(1),
        default="128",
        doc="requests at a time on one HTTP/2 connection",
    ),
    cluster_option(
        name="http2-max-header-size",
        fills=(Http2Settings, "head_bytes"),
        grammar=head_bytes,
        default="64k",
        doc="bytes of the fields of a request, names and values and 32 for each, else 431. nginx has dropped the key in"
        " favour of `large-client-header-buffers`",
    ),
    cluster_option(
        name="http2-max-header-fields",
        fills=(Http2Settings, "head_lines_max"),
        grammar=integer(4),
        default="128",
        doc="fields of a request, else 431",
    ),
    cluster_option(
        name="http2-max-resets",
        fills=(Http2Settings, "resets"),
        grammar=integer(1),
        default="100",
        doc="requests that a client may break off before their answer, or have broken off by its mistakes, in ten"
        " seconds. Beyond it the connection is closed",
    ),
    cluster_option(
        name="http2-max-idle-frames",
        fills=(Http2Settings, "idle_frames"),
        grammar=integer(1),
        default="100",
        doc="frames of each kind that carry nothing (SETTINGS, PING, empty DATA, PRIORITY, and so on) in ten seconds."
        " Beyond it the connection is closed",
    ),
    cluster_option(
        name="http2-max-unread-size",
        fills=(Http2Settings, "unread_bytes"),
        grammar=unread_bytes,
        default="256m",
        doc="bytes of answers, over HTTP/1.1 too, that may wait in a worker until its clients read them, at least 1m."
        " Beyond it the client (by address, IPv6 by its network of 64 bits) for which most waits loses answers, first"
        " on the connection that has read nothing for longest. From half of it on, little of each answer is read at"
        " once",
    ),
)
