"""Settings in the model for the whole data plane, which may change while it runs."""

from __future__ import annotations

import msgspec


class Compression(msgspec.Struct, frozen=True):
    """Which responses are compressed with one coding: those of `types`, and text/html, from `min_bytes` on.

    `level` is from 1 (fast; 0 for brotli) to 9 (small). Types are in lower case; `*` means all.
    """

    level: int = 1
    min_bytes: int = 256
    types: tuple[str, ...] = ()


class ProxySettings(msgspec.Struct, frozen=True):
    """Settings that hold for the whole data plane and may change while it runs. Durations in seconds.

    `response_fields` are names and values that every response gets, sorted by name. `compression` (gzip) and `brotli`
    are None where the coding is not used.
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
    generate_request_id: bool = True
    proxy_protocol: bool = False
    proxy_protocol_timeout_seconds: float = 5.0
    client_connections: int = 16_384
    response_fields: tuple[tuple[str, str], ...] = ()
    compression: Compression | None = None
    brotli: Compression | None = None
