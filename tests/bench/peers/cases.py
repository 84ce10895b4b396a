"""The cases: who does what in them, and for how long. Nothing here runs."""

from __future__ import annotations

from enum import Enum

import msgspec

from tests.bench.peers.configs import grpc
from tests.bench.peers.samples import Measure

NGINX, HAPROXY, ENVOY, CADDY, TRAEFIK, AIOHTTP = "nginx", "haproxy", "envoy", "caddy", "traefik", "aiohttp"
ZONAL = "zonal"
"""Zone-aware routing on, metrics on, access log on and read; its modules are the plain source."""
COMPILED = "zonal-compiled"
"""The same from the installed wheel, whose modules are compiled."""
GATEWAY = "zonal-gateway"
"""The compiled one, whose hosts are those of HTTPRoutes on a Gateway."""
BARE_LOOP = "bare-loop"
"""uvloop passes bytes on and reads none: no proxy, but what no proxy on this loop can do without."""
SILENT, OFF, MANY_HOSTS, TWO_WORKERS = "zonal-no-log", "zonal-flag-off", "zonal-5000-hosts", "zonal-2-workers"

PEERS = (NGINX, HAPROXY, ENVOY, CADDY, TRAEFIK, AIOHTTP)
EVERYBODY = (*PEERS, ZONAL, COMPILED)
CONTENDERS = (*EVERYBODY, GATEWAY, BARE_LOOP, SILENT, OFF, MANY_HOSTS, TWO_WORKERS)

LABELS = {
    HAPROXY: "HAProxy",
    ENVOY: "Envoy",
    CADDY: "Caddy",
    TRAEFIK: "Traefik",
    AIOHTTP: "aiohttp server + ClientSession",
    COMPILED: "zonal, compiled",
    GATEWAY: "zonal, compiled, by HTTPRoutes",
    BARE_LOOP: "*uvloop, which passes bytes on and reads none*",
    SILENT: "zonal, access log off",
    OFF: "zonal, zone-aware routing off",
    MANY_HOSTS: "zonal, 5,000 hosts",
    TWO_WORKERS: "zonal, two workers",
}

BROWSER_FIELDS = (
    "Cache-Control: max-age=0",
    'Sec-CH-UA: "Chromium";v="130"',
    "Sec-CH-UA-Mobile: ?0",
    'Sec-CH-UA-Platform: "Linux"',
    "Upgrade-Insecure-Requests: 1",
    "User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0 Safari/537.36",
    "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8",
    "Sec-Fetch-Site: none",
    "Sec-Fetch-Mode: navigate",
    "Sec-Fetch-User: ?1",
    "Sec-Fetch-Dest: document",
    "Accept-Encoding: gzip, deflate, br",
    "Accept-Language: en-GB,en;q=0.9",
    "Referer: http://bench.example/start",
    "Cookie: session=0123456789abcdef",
)
"""Fifteen, as a browser sends them."""


class Kind(Enum):
    """How load is made."""

    REQUESTS = "wrk"
    HTTP2 = "h2load"
    GRPC = "calls"
    HANDSHAKES = "handshakes"
    ECHO = "echo"
    HALF_LOAD = "open loop"
    IDLE = "idle"


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """`fields` are header lines; `body_bytes` make it a POST. `host` is the name that requests have; empty is that of
    the first host. `hosts`: requests go to so many hosts in turn. `is_numbered`: each has a field that no other
    has. `streams`: requests at once on each connection, over HTTP/2.
    """

    name: str
    title: str
    kind: Kind = Kind.REQUESTS
    path: str = "/"
    host: str = ""
    is_secure: bool = False
    connections: int = 32
    streams: int = 1
    fields: tuple[str, ...] = ()
    body_bytes: int = 0
    hosts: dict[str, int] = {}
    is_numbered: bool = False
    contenders: tuple[str, ...] = EVERYBODY
    least_rounds: int = 0
    measure: Measure = Measure.CPU
    """What the case is about; the table of a case is in its order."""


def _over_http2(
    name: str, title: str, *, connections: int, streams: int = 1, path: str = "/", fields: tuple[str, ...] = ()
) -> Case:
    """Over TLS, which chooses HTTP/2; endpoints are spoken to as ever."""
    return Case(
        name=name,
        title=title,
        kind=Kind.HTTP2,
        path=path,
        is_secure=True,
        connections=connections,
        streams=streams,
        fields=fields,
        contenders=tuple(each for each in EVERYBODY if each != AIOHTTP),
    )


def _calls(name: str, title: str, path: str) -> Case:
    """Over TLS; endpoints are spoken to in HTTP/2."""
    return Case(
        name=name,
        title=title,
        kind=Kind.GRPC,
        path=path,
        is_secure=True,
        connections=1,
        streams=32,
        fields=grpc.FIELDS,
        contenders=tuple(each for each in EVERYBODY if each != AIOHTTP),
    )


CASES = (
    Case(name="get", title="GET, 107 bytes, keep-alive, 32 connections", contenders=(*EVERYBODY, SILENT, BARE_LOOP)),
    Case(
        name="headers",
        title="the same with 15 header fields of a browser",
        fields=BROWSER_FIELDS,
        contenders=(*EVERYBODY, BARE_LOOP),
    ),
    Case(name="different", title="the same, one of them different each time", fields=BROWSER_FIELDS, is_numbered=True),
    Case(name="64k", title="GET, 64 KiB", path="/files/64k", connections=16),
    Case(name="1m", title="GET, 1 MiB", path="/files/1m", connections=8),
    Case(name="upload", title="POST, 1 MiB", path="/upload", connections=8, body_bytes=1 << 20),
    Case(name="connections", title="GET, a new connection for each request", fields=("Connection: close",)),
    Case(name="tls", title="GET over TLS, keep-alive", is_secure=True, contenders=(*EVERYBODY, BARE_LOOP)),
    Case(name="handshakes", title="full TLS handshake for each GET", kind=Kind.HANDSHAKES, is_secure=True),
    _over_http2("h2", "HTTP/2, GET, one connection with 32 streams", connections=1, streams=32),
    _over_http2("h2-connections", "HTTP/2, GET, 32 connections with one stream", connections=32),
    _over_http2("h2-headers", "HTTP/2, 32 streams, 15 fields", connections=1, streams=32, fields=BROWSER_FIELDS),
    _over_http2("h2-64k", "HTTP/2, GET, 64 KiB, 16 streams", connections=1, streams=16, path="/files/64k"),
    _over_http2("h2-1m", "HTTP/2, GET, 1 MiB, 8 streams", connections=1, streams=8, path="/files/1m"),
    _calls("grpc", "gRPC, unary call, 100 bytes, 32 streams", grpc.UNARY_PATH),
    _calls("grpc-stream", "gRPC, answer of 100 messages of 100 bytes, 32 streams", grpc.STREAM_PATH),
    Case(name="websocket", title="WebSocket echo, 128 bytes", kind=Kind.ECHO),
    Case(
        name="latency",
        title="latency at half of the own greatest rate",
        kind=Kind.HALF_LOAD,
        connections=64,
        measure=Measure.P99,
    ),
    Case(
        name="idle",
        title="memory of an idle connection that was used once",
        kind=Kind.IDLE,
        connections=5000,
        measure=Measure.CONNECTION,
    ),
    Case(
        name="hosts",
        title="5,000 hosts instead of 10, asked in turn",
        hosts={ZONAL: 10, MANY_HOSTS: 5000},
        contenders=(ZONAL, MANY_HOSTS),
    ),
    Case(name="workers", title="two workers instead of one", connections=64, contenders=(ZONAL, TWO_WORKERS)),
    Case(
        name="route",
        title="GET by an HTTPRoute instead of an Ingress",
        contenders=(COMPILED, GATEWAY),
        least_rounds=6,
    ),
    Case(name="zone", title="prefer-zone against flag off", contenders=(OFF, ZONAL), least_rounds=6),
)


def label(contender: str) -> str:
    """How a contender is called in a table."""
    return LABELS.get(contender, contender)


def rounds(case: Case, wanted: int, *, is_quick: bool) -> int:
    """How often each contender takes its turn. Memory is measured once: a process does not give it back."""
    if case.kind is Kind.IDLE:
        return 1
    return wanted if is_quick else max(wanted, case.least_rounds)
