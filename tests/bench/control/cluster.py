"""A large cluster as documents: Ingresses, Services, slices and Nodes, the same ones every time.

Responsible for what the cluster looks like and for its changes. It must not know who stores it. Every endpoint is an
address of 127.0.0.0/8, so that one listener on all addresses answers for all of them.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from tests.features.cluster.documents import node
from tests.integration.manifests import Document, config_map, ingress, ingress_class, path, rule, service

SLICE_ENDPOINTS = 100
"""As many as the EndpointSlice controller puts into one slice (--max-endpoints-per-slice)."""

_ZONES = ("zone-a", "zone-b", "zone-c")
# Addresses from here on are replacements, which no endpoint has at first.
_REPLACEMENTS_FROM = 1_000_000
_REPLACEMENTS_EACH = 16


class Shape(msgspec.Struct, frozen=True, kw_only=True):
    """How large: `large` is the number of endpoints of the first Service; the others share the rest evenly.

    Each Ingress has one host and one Service, and the first `certificates` of them have a Secret.
    """

    ingresses: int = 5000
    endpoints: int = 20_000
    certificates: int = 500
    namespaces: int = 50
    nodes: int = 60
    large: int = 1000

    def endpoints_of(self, number: int) -> range:
        """The numbers of the endpoints of a Service."""
        if number == 0:
            return range(self.large)
        each, more = divmod(self.endpoints - self.large, self.ingresses - 1)
        first = self.large + (number - 1) * each + min(number - 1, more)
        return range(first, first + each + (number - 1 < more))


def host_of(number: int) -> str:
    return f"host-{number:05}.bench.test"


def name_of(number: int) -> str:
    """The name of an Ingress and of its Service."""
    return f"app-{number:05}"


def secret_of(number: int) -> str:
    return f"{name_of(number)}-tls"


def namespace_of(shape: Shape, number: int) -> str:
    return f"team-{number % shape.namespaces:03}"


def address_of(number: int) -> str:
    """An address of loopback that no other number has."""
    return f"127.{1 + number // 62_500}.{number // 250 % 250}.{number % 250 + 1}"


def documents(shape: Shape, *, port: int) -> Iterator[Document]:
    """Every object but the Secrets; endpoints listen on `port`."""
    yield ingress_class()
    yield config_map(zone_aware_routing="true", ssl_redirect="false")
    for number in range(shape.nodes):
        yield node(_node_of(number), zone=_ZONES[number % len(_ZONES)])
    for number in range(shape.ingresses):
        namespace = namespace_of(shape, number)
        yield service(name_of(number), namespace=namespace)
        yield from slices_of(shape, number, port=port)
        yield ingress_of(shape, number)


def ingress_of(shape: Shape, number: int, *, target: str = "/") -> Document:
    """An Ingress of one host, with TLS if its number is among the certificates."""
    host = host_of(number)
    tls = [{"hosts": [host], "secretName": secret_of(number)}] if number < shape.certificates else []
    routed = rule(host, path(target, name_of(number)))
    return ingress(name_of(number), routed, namespace=namespace_of(shape, number), tls=tls)


def slices_of(shape: Shape, number: int, *, port: int) -> Iterator[Document]:
    """The slices of a Service, with as many endpoints each as Kubernetes would put into them."""
    endpoints = shape.endpoints_of(number)
    for part, first in enumerate(range(endpoints.start, endpoints.stop, SLICE_ENDPOINTS)):
        chosen = range(first, min(first + SLICE_ENDPOINTS, endpoints.stop))
        yield _slice(shape, number, part, port=port, addresses=[(each, address_of(each)) for each in chosen])


def changed_slice(shape: Shape, number: int, *, port: int, turn: int) -> Document:
    """The first slice of a Service as it is at a turn: its first endpoint has another address than a turn before."""
    first, *others = list(shape.endpoints_of(number))[:SLICE_ENDPOINTS]
    replacement = _REPLACEMENTS_FROM + number * _REPLACEMENTS_EACH + turn % _REPLACEMENTS_EACH
    addresses = [(first, address_of(replacement)), *((each, address_of(each)) for each in others)]
    return _slice(shape, number, 0, port=port, addresses=addresses)


def unfollowed(number: int, turn: int) -> Document:
    """An object of about the size of a slice, of a kind that is not followed: it costs the API server as much."""
    labels = {f"label-{each}": f"{turn}-{each}-{'x' * 40}" for each in range(16)}
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": f"unfollowed-{number:05}", "labels": labels},
    }


def _slice(shape: Shape, number: int, part: int, *, port: int, addresses: list[tuple[int, str]]) -> Document:
    namespace, name = namespace_of(shape, number), name_of(number)
    labels = {
        "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
        "kubernetes.io/service-name": name,
    }
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": f"{name}-{part}", "generateName": f"{name}-", "namespace": namespace, "labels": labels},
        "addressType": "IPv4",
        "ports": [{"name": "http", "port": port, "protocol": "TCP"}],
        "endpoints": [_endpoint(shape, namespace, each, address) for each, address in addresses],
    }


def _endpoint(shape: Shape, namespace: str, number: int, address: str) -> Document:
    return {
        "addresses": [address],
        "conditions": {"ready": True, "serving": True, "terminating": False},
        "nodeName": _node_of(number % shape.nodes),
        "zone": _ZONES[number % shape.nodes % len(_ZONES)],
        "targetRef": {
            "kind": "Pod",
            "name": f"pod-{number:06}",
            "namespace": namespace,
            "uid": f"00000000-0000-4000-8000-{number:012}",
        },
    }


def _node_of(number: int) -> str:
    return f"node-{number:03}"
