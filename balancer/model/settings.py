"""Settings in the model for the whole data plane, which may change while it runs."""

from __future__ import annotations

from enum import Enum

import msgspec

from balancer.model.tracing import SpanExport


class Compression(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """Which responses are compressed with one coding: those of `types`, and text/html, from `min_bytes` on.

    `level` is from 1 (fast; 0 for brotli) to 9 (small). Types are in lower case; `*` means all.
    """

    level: int = 1
    min_bytes: int = 256
    types: tuple[str, ...] = ()


class ListenerTls(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """What a client's handshake has to meet.

    `oldest` and `newest` are versions as `ssl.TLSVersion` names them. `ciphers` is an OpenSSL list for TLS 1.2; empty
    for OpenSSL's own. `server_prefers`: the order of that list counts, not the client's. `rejects_unknown`: a client
    that asks for no known host is refused.
    """

    oldest: str = "TLSv1_2"
    newest: str = "TLSv1_3"
    ciphers: str = ""
    server_prefers: bool = True
    rejects_unknown: bool = False

    def at_least(self, oldest: str) -> ListenerTls:
        """These settings without versions before `oldest`. An empty `oldest` changes nothing."""
        return msgspec.structs.replace(self, oldest=max(self.oldest, oldest)) if oldest else self


class Http2Engine(Enum):
    """The library that does frames, header compression and stream states."""

    NGH2 = "ngh2"
    H2 = "h2"


class Http2Settings(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """How clients are spoken to in HTTP/2.

    `enabled`: TLS clients may choose it. `cleartext`: clients without TLS may begin with its preface. `streams` is how
    many requests a connection carries at a time. `head_bytes` (RFC 9113 6.5.2) and `head_lines_max` bound a decoded
    field section. `resets` and `idle_frames` are how many of them a client may cause or send in ten seconds.
    `unread_bytes` of answers may wait in a worker for clients to read them.
    """

    enabled: bool = True
    cleartext: bool = False
    engine: Http2Engine = Http2Engine.NGH2
    streams: int = 128
    head_bytes: int = 64 * 1024
    head_lines_max: int = 128
    resets: int = 100
    idle_frames: int = 100
    unread_bytes: int = 256 * 1024 * 1024


class TrustedProxies(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """The proxies in front of this one that are believed: the peers in `networks`.

    `address_field` is the field, in lower case, that lists the addresses of clients and proxies; empty: none is read.
    `believes_all`: scheme, host and port of X-Forwarded-* are believed, too. `appends`: endpoints get the whole list of
    addresses, otherwise the client's alone.
    """

    networks: tuple[str, ...]
    address_field: str = "x-forwarded-for"
    believes_all: bool = False
    appends: bool = False


class LogEscape(Enum):
    """How values are written into a line of the access log (nginx log_format, `escape`)."""

    DEFAULT = "default"
    JSON = "json"
    NONE = "none"


class LogRules(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """Which requests and streams have a line in the access log, and what it says.

    `format` is text with variables of nginx, empty for the format that the process was started with. `escape` is for
    `format`, and for the text format of the process. `skipped` are targets without a line, in any case; behind `~` or
    `~*` stands a regular expression. `unrouted`: requests that no route of an Ingress serves have lines. `enabled` is
    about requests, and `streams` about streams.
    """

    enabled: bool = True
    format: str = ""
    escape: LogEscape = LogEscape.DEFAULT
    skipped: tuple[str, ...] = ()
    unrouted: bool = True
    streams: bool = True


class ProxySettings(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """Settings that hold for the whole data plane and may change while it runs. Durations in seconds.

    `trusted` None believes nobody.
    `kept_fields` are names, in lower case, of fields about clients that endpoints get as clients say them.
    `names_server`: responses name the proxy in Server. `hidden_fields` are names, in lower case, of endpoints' fields
    that clients do not get. `stream_idle_seconds`: a relay on which nothing passes for so long ends. `request_fields`
    are names and texts with variables that every endpoint gets, sorted by name; an empty text removes the field.
    `response_fields` are names and values that every response gets, sorted by name. `compression` (gzip) and `brotli`
    are None where the coding is not used. `spans` is the collector of spans.
    """

    client_header_timeout_seconds: float = 60.0
    client_body_timeout_seconds: float = 60.0
    keep_alive_seconds: float = 75.0
    keep_alive_requests: int = 1000
    head_line_bytes: int = 8 * 1024
    head_lines_max: int = 100
    head_bytes: int = 32 * 1024
    endpoint_idle_connections: int = 320
    endpoint_idle_seconds: float = 60.0
    endpoint_requests: int = 10_000
    hsts: str | None = "max-age=31536000; includeSubDomains"
    allow_backend_server_header: bool = False
    underscores_in_headers: bool = False
    kept_fields: tuple[str, ...] = ()
    generate_request_id: bool = True
    proxy_protocol: bool = False
    proxy_protocol_timeout_seconds: float = 5.0
    stream_idle_seconds: float = 600.0
    trusted: TrustedProxies | None = None
    client_connections: int = 16_384
    names_server: bool = False
    hidden_fields: tuple[str, ...] = ()
    request_fields: tuple[tuple[str, str], ...] = ()
    response_fields: tuple[tuple[str, str], ...] = ()
    tls: ListenerTls = ListenerTls()
    compression: Compression | None = None
    brotli: Compression | None = None
    log: LogRules = LogRules()
    spans: SpanExport | None = None
    http2: Http2Settings = Http2Settings()
