"""Objects of a cluster as plain documents, where `tests.integration.manifests` has none that fit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tests.integration.manifests import NAMESPACE, Document

ZONE_LABEL = "topology.kubernetes.io/zone"
OLD_ZONE_LABEL = "failure-domain.beta.kubernetes.io/zone"


def node(name: str, *, zone: str = "", label: str = ZONE_LABEL, labels: Mapping[str, str] | None = None) -> Document:
    """A Node; without `zone` its labels name none."""
    own = {**({label: zone} if zone else {}), **(labels or {})}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": own}}


def endpoints(
    name: str,
    service: str,
    *,
    port: int,
    addresses: Iterable[str] = ("127.0.0.1",),
    zone: str | None = None,
    nodes: Iterable[str] = (),
    namespace: str = NAMESPACE,
) -> Document:
    """An EndpointSlice. With `nodes`, its endpoints are on them in turn; without, on none."""
    addresses, names = tuple(addresses), tuple(nodes)
    each = [
        {
            "addresses": [address],
            "conditions": {"ready": True},
            **({"zone": zone} if zone else {}),
            **({"nodeName": names[number % len(names)]} if names else {}),
        }
        for number, address in enumerate(addresses)
    ]
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": name, "namespace": namespace, "labels": {"kubernetes.io/service-name": service}},
        "addressType": "IPv4",
        "ports": [{"name": "http", "port": port}],
        "endpoints": each,
    }
