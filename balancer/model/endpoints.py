"""Backends in the model: a Service port, its endpoints, and how requests to them are balanced, checked and sent."""

from __future__ import annotations

from enum import Enum
from hashlib import sha256
from typing import Annotated, Final, NewType

import msgspec

from balancer.model.secrecy import SECRET
from balancer.model.zones import ZONES_OFF, Zone, ZonePolicy

BackendKey = NewType("BackendKey", str)
"""`namespace/service:port`. No part can contain `/`, `:` or `#`, so the key is unambiguous.

For TLS or HTTP/2 to endpoints, `way#` stands before (`way_of`). Two ways to one Service port are two backends with
members of their own, so a connection of one is never used for the other.
"""


def place_of(key: BackendKey) -> str:
    """`namespace/service:port` of a backend, without its way."""
    return key.rpartition("#")[2]


class Endpoint(msgspec.Struct, frozen=True, omit_defaults=True, order=True, gc=False):
    """One address and port that answers for a backend, with the facts that zone policies judge.

    `ready` already has the API's default (nil means true). `serving_terminating` is true for an endpoint that still
    serves while it terminates (KEP-1672); such an endpoint is used only if nothing is ready. `hint_zones` and
    `hint_nodes` are the slice's hints (KEP-2433, KEP-3015). `labels` are those labels of its node that a policy names.
    `leaving`: its node is said to go away or to be lost. That is a hint for whoever looks for faults, and no proof.
    """

    address: str
    port: int
    zone: Zone | None = None
    node: str | None = None
    ready: bool = True
    serving_terminating: bool = False
    hint_zones: tuple[Zone, ...] = ()
    hint_nodes: tuple[str, ...] = ()
    labels: tuple[tuple[str, str], ...] = ()
    leaving: bool = False


class LoadBalancing(Enum):
    """How an endpoint of a pool is chosen."""

    ROUND_ROBIN = "round_robin"
    LEAST_REQUEST = "least_request"
    EWMA = "ewma"


class Ejection(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """When failures eject an endpoint, for how long (times the number of ejections), and how many endpoints.

    `consecutive_errors` in a row do; 0: never. A share of failures does that is above the share of the backend's other
    endpoints by `failure_percent` points; 0: never. `max_percent` counts the whole backend.
    """

    consecutive_errors: int = 5
    on_5xx: bool = False
    failure_percent: int = 10
    seconds: float = 10.0
    max_percent: int = 50


class HealthCheck(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """An active check of every endpoint. `path` is a request path, or `tcp` to check the connection only.

    It may also be `grpc` or `grpc:` and the name of a service: the health protocol of gRPC is asked then. `http2`: what
    is asked is asked in HTTP/2, as gRPC always is.

    `host` is the value of Host; empty: address and port of the endpoint. `fields` are sent as well. They may say who
    asks, so they are not shown.
    """

    path: str
    interval_seconds: float = 5.0
    timeout_seconds: float = 2.0
    threshold: int = 3
    host: str = ""
    fields: Annotated[tuple[tuple[str, str], ...], SECRET] = ()
    http2: bool = False


class EndpointTls(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """TLS towards endpoints. Without `verify` every certificate is accepted, as in ingress-nginx by default.

    `server_name` is sent as SNI and verified. `authority` is the key of the trusted roots (None: the system's). An
    endpoint that asks for a client certificate gets the one with the key `client_certificate`: `namespace/name` of a
    Secret. `handshakes.Keyring` finds the content of both.

    `follows_client`: only requests that came over TLS go on over TLS. `oldest`, `newest` and `ciphers` are as in
    `settings.ListenerTls`. With `verify`, at most `intermediates`
    certificates may stand between that of the endpoint and a trusted one, and if there are `names`, the endpoint's has
    to have one of them in place of `server_name`. A name is that of a host or, with a colon, a URI.
    """

    verify: bool = False
    server_name: str | None = None
    authority: str | None = None
    client_certificate: str | None = None
    follows_client: bool = False
    oldest: str = "TLSv1_2"
    newest: str = "TLSv1_3"
    ciphers: str = ""
    intermediates: int = 1
    names: tuple[str, ...] = ()

    @property
    def way(self) -> str:
        """Identifies this TLS among all TLS to the same Service port, in one translation. Contains no secret."""
        secret = self.authority or self.client_certificate
        asked = ["verify" if self.verify else "", self.server_name or "", secret or ""]
        if (self.oldest, self.newest, self.ciphers, self.intermediates) != _USUAL:
            # What a list of ciphers may contain would be ambiguous in the key of a backend.
            asked += [self.oldest, self.newest, self.ciphers.replace(":", "|"), str(self.intermediates)]
        if self.client_certificate not in {None, secret}:
            asked.append(f"shows {self.client_certificate}")
        if self.names:
            # A URI may contain anything.
            asked.append(f"names {sha256(chr(0).join(self.names).encode()).hexdigest()[:_NAMES_DIGITS]}")
        return f"{'auto' if self.follows_client else 'https'}({','.join(asked)})"


_NAMES_DIGITS: Final = 32
_USUAL = (EndpointTls().oldest, EndpointTls().newest, EndpointTls().ciphers, EndpointTls().intermediates)


def way_of(tls: EndpointTls | None, *, http2: bool) -> str:
    """Identifies how a Service port is spoken to, among all ways of one translation; empty for plain HTTP/1.1."""
    return ("h2:" if http2 else "") + (tls.way if tls is not None else "")


class Backend(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """A Service port and its endpoints (sorted, unique by address and port). `tls` None: no TLS.

    `http2`: endpoints are spoken to in HTTP/2, over TLS chosen by ALPN and without TLS with prior knowledge (RFC 9113
    3.3). Otherwise in HTTP/1.1.
    `sends_proxy_header`: a relay begins with a PROXY header of version 2.
    `panic_percent`: with a smaller share of healthy endpoints, health is ignored. Concurrency 0 is unlimited.
    """

    key: BackendKey
    namespace: str
    service: str
    port: str
    endpoints: tuple[Endpoint, ...] = ()
    tls: EndpointTls | None = None
    zone_policy: ZonePolicy = ZONES_OFF
    load_balancing: LoadBalancing = LoadBalancing.ROUND_ROBIN
    ejection: Ejection = Ejection()
    health_check: HealthCheck | None = None
    max_concurrency: int = 0
    max_concurrency_per_endpoint: int = 0
    panic_percent: int = 50
    http2: bool = False
    sends_proxy_header: bool = False
