"""Policies in the model that an Ingress sets for its paths: timeouts, limits, retries and affinity by cookie."""

from __future__ import annotations

import msgspec


class RoutePolicy(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """The settings of an Ingress for its paths. Durations in seconds, sizes in bytes. A size or number of tries of 0 is
    no limit.

    `retry_on` holds words of proxy-next-upstream. `retry_seconds` bounds all tries together, 0 = unbounded. Endpoints
    get `host` instead of the client's Host. `upgrade_protocols` (lower case) may become tunnels. Endpoints
    get `connection` as the field Connection; empty is the usual one. `http_1_0`: endpoints are spoken to in HTTP/1.0.
    `logged`: requests have a line in the access log.
    `body_rate` is the most bytes of a response body in a second, after the first `body_rate_after` bytes; 0 is no
    limit.
    `request_seconds` bounds a request from its head to the end of its response, `attempt_seconds` one attempt to the
    end of its response; 0 is no bound, and a tunnel has none. Responses with a status among `retry_codes` are dropped
    for another attempt. `retry_pause_seconds` is the time before another attempt. `repeats_endpoints`: an endpoint is
    tried again if there is no other one. `calls_in_http2`: endpoints get gRPC calls of HTTP/2 clients in HTTP/2,
    whatever they are spoken to otherwise.
    `spools_bodies`: an endpoint is picked when the whole body is here. Up to `spool_memory_bytes` of it stay in memory.
    """

    connect_timeout_seconds: float = 5.0
    read_timeout_seconds: float = 60.0
    send_timeout_seconds: float = 60.0
    max_body_bytes: int = 1024 * 1024
    tries: int = 3
    retry_on: tuple[str, ...] = ("error", "timeout")
    retry_seconds: float = 0.0
    host: str | None = None
    upgrade_protocols: tuple[str, ...] = ("websocket",)
    spools_bodies: bool = False
    spool_memory_bytes: int = 16 * 1024
    connection: str = ""
    logged: bool = True
    body_rate: int = 0
    body_rate_after: int = 0
    http_1_0: bool = False
    request_seconds: float = 0.0
    attempt_seconds: float = 0.0
    retry_codes: tuple[int, ...] = ()
    retry_pause_seconds: float = 0.0
    repeats_endpoints: bool = False
    calls_in_http2: bool = False


class Affinity(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """A cookie keeps a client at its endpoint (the annotations session-cookie-* of ingress-nginx).

    `in_header`: a header field of this name stands for the cookie, and has no attributes.

    `persistent`: the cookie names the endpoint; else it holds a key that a consistent hash maps to an endpoint. Seconds
    are relative to the answer, and None omits the attribute. `path` and the other texts are as on the wire. `secure`
    sets the attribute on plain HTTP, too. `same_site_conditional` omits SameSite=None for old browsers.
    """

    cookie: str = "INGRESSCOOKIE"
    in_header: bool = False
    persistent: bool = False
    change_on_failure: bool = False
    path: str = "/"
    domain: str = ""
    expires_seconds: int | None = None
    max_age_seconds: int | None = None
    same_site: str = ""
    same_site_conditional: bool = False
    secure: bool = False
