"""zonal's manifests: the objects of a small cluster, or of one with many hosts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tests.bench.peers.configs import features, grpc
from tests.bench.peers.configs.setup import ECHO_PATH, Setup
from tests.integration.manifests import (
    Document,
    config_map,
    endpoint_slice,
    ingress,
    ingress_class,
    path,
    rule,
    service,
    tls_secret,
)

OWN_ZONE, OTHER_ZONE = "zone-a", "zone-b"
DOMAIN = "bench.example"
SECURE_HOST = "localhost"
"""The host with a certificate: the load generators name it in their URL, and so in the TLS handshake."""

HOSTS = 10
"""How many hosts everybody else's figures are made with."""


class _Endpoint(NamedTuple):
    service: str
    zone: str | None
    port: int


def host(number: int) -> str:
    """The name of one of the hosts, from 0 on."""
    return f"host-{number}.{DOMAIN}"


def objects(setup: Setup, *, is_zone_aware: bool, hosts: int = HOSTS) -> Iterator[Document]:
    """The first half of the endpoints is in the own zone, the other in another, and both serve when the flag is off."""
    yield ingress_class()
    yield config_map(
        zone_aware_routing="true" if is_zone_aware else "false",
        zone_policy="prefer-zone",
        proxy_body_size="8m",
        keep_alive_requests="100000000",
        upstream_keepalive_requests="100000000",
    )
    yield service("app")
    yield service("calls")
    yield service("echo")
    for name, ports in (("app", setup.endpoint_ports), ("calls", setup.grpc_ports)):
        for place, port in enumerate(ports):
            yield endpoint_slice(_Endpoint(name, OWN_ZONE if 2 * place < len(ports) else OTHER_ZONE, port))
    yield endpoint_slice(_Endpoint("echo", OWN_ZONE, setup.echo_port))
    yield tls_secret("secure", chain=setup.certificate.read_bytes(), key=setup.key.read_bytes())
    paths = (path("/", "app"), path(ECHO_PATH, "echo"))
    yield ingress("secure", rule(SECURE_HOST, *paths), tls=[{"hosts": [SECURE_HOST], "secretName": "secure"}])
    calls = rule(SECURE_HOST, path(grpc.SERVICE_PATH, "calls"))
    yield ingress("calls", calls, annotations={"nginx.ingress.kubernetes.io/backend-protocol": "GRPC"})
    yield from features.objects(setup)
    for number in range(hosts):
        yield ingress(f"host-{number}", rule(host(number), *paths))
