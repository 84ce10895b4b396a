"""Reads zonal's own addresses from flags, a Service, pods and nodes, as an operator or the API server gives them.

Ignores unknown fields. Does not know who asks, nor which Ingress gets the addresses.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from ipaddress import ip_address
from typing import TypeVar

import msgspec

from ingress.objects.kinds import PublishedAddress
from ingress.objects.names import SUBDOMAIN

Addresses = tuple[PublishedAddress, ...]
"""Sorted and without duplicates."""

# Labels that change with each rollout. Pods of the old and of the new version are both ours.
_ROLLOUT_LABELS = frozenset({"pod-template-hash", "controller-revision-hash", "pod-template-generation"})


class AddressError(ValueError):
    """The text or object has no readable address; the text of the error is one line that says what is wrong."""


class Pod(msgspec.Struct, frozen=True):
    """The facts about a pod that count here: its node, whether it runs, and the labels that it shares with its
    replicas.
    """

    node: str
    is_running: bool
    labels: Mapping[str, str]


def parse_addresses(text: str) -> Addresses:
    """`--publish-status-address`: a comma-separated list of IP addresses and host names.

    Raises `AddressError` for anything else, because an unreachable address must not go into DNS.
    """
    addresses = addresses_of(part.strip() for part in text.split(","))
    if not addresses:
        raise AddressError("give at least one IP address or host name")
    return addresses


def addresses_of(texts: Iterable[str]) -> Addresses:
    """IP addresses and host names, sorted, without duplicates and empty texts. Raises `AddressError`."""
    return tuple(sorted({_address(text) for text in texts if text}))


def service_addresses(body: bytes) -> Addresses:
    """The addresses of the one Service of a v1 ServiceList, as ingress-nginx reads its publish-service.

    LoadBalancer: the addresses that the load balancer reports and the externalIPs; none before it reports any.
    NodePort: the externalIPs, else the cluster IP. ClusterIP: the cluster IP. ExternalName: its name. Raises
    `AddressError`.
    """
    found = _decoded(body, _ServiceList, what="ServiceList").items
    if not found:
        raise AddressError("there is no such Service")
    service = found[0]
    spec, cluster_ip = service.spec, "" if service.spec.cluster_ip == "None" else service.spec.cluster_ip
    match spec.type:
        case "LoadBalancer":
            assigned = service.status.load_balancer.ingress or ()
            return addresses_of((*(item.ip or item.hostname for item in assigned), *(spec.external_ips or ())))
        case "NodePort":
            return addresses_of(spec.external_ips or (cluster_ip,))
        case "ExternalName":
            return addresses_of((spec.external_name,))
        case _:
            return addresses_of((cluster_ip,))


def pods_of(body: bytes) -> tuple[Pod, ...]:
    """The pods of a v1 PodList. Raises `AddressError`."""
    return tuple(
        Pod(
            node=item.spec.node_name or "",
            is_running=item.status.phase == "Running" and not item.metadata.deletion_timestamp,
            labels=item.metadata.labels or {},
        )
        for item in _decoded(body, _PodList, what="PodList").items or ()
    )


def replica_selector(labels: Mapping[str, str]) -> str:
    """The label selector for a pod's replicas, of this rollout and others; empty if the pod has no other labels."""
    return ",".join(f"{key}={value}" for key, value in sorted(labels.items()) if key not in _ROLLOUT_LABELS)


def node_addresses(body: bytes) -> Addresses:
    """The ExternalIPs of the one Node of a v1 NodeList, else its InternalIPs; none if the Node is gone.

    Raises `AddressError`.
    """
    nodes = _decoded(body, _NodeList, what="NodeList").items or ()
    known = nodes[0].status.addresses or () if nodes else ()
    for kind in ("ExternalIP", "InternalIP"):
        if found := addresses_of(item.address for item in known if item.type == kind):
            return found
    return ()


def _address(text: str) -> PublishedAddress:
    try:
        return PublishedAddress(ip=str(ip_address(text)))
    except ValueError:
        # A text of digits and dots is a mistyped IP address, although the grammar of host names permits it.
        if not SUBDOMAIN.fullmatch(text) or text.replace(".", "").isdigit():
            raise AddressError(f"{text[:100]!r} is neither an IP address nor a host name") from None
        return PublishedAddress(hostname=text)


class _LenientWire(msgspec.Struct, frozen=True, rename="camel"):
    """Absent, null and empty mean the same in the fields that zonal reads."""


class _PodMetadata(_LenientWire, frozen=True):
    labels: dict[str, str] | None = None
    deletion_timestamp: str | None = None


class _LoadBalancerIngress(_LenientWire, frozen=True):
    ip: str = ""
    hostname: str = ""


class _LoadBalancer(_LenientWire, frozen=True):
    ingress: tuple[_LoadBalancerIngress, ...] | None = None


class _ServiceStatus(_LenientWire, frozen=True):
    load_balancer: _LoadBalancer = _LoadBalancer()


class _ServiceSpec(_LenientWire, frozen=True):
    type: str = "ClusterIP"
    external_name: str = ""
    cluster_ip: str = msgspec.field(default="", name="clusterIP")
    external_ips: tuple[str, ...] | None = msgspec.field(default=None, name="externalIPs")


class _PublishService(_LenientWire, frozen=True):
    spec: _ServiceSpec
    status: _ServiceStatus = _ServiceStatus()


class _ServiceList(_LenientWire, frozen=True):
    items: tuple[_PublishService, ...] | None = None


class _PodSpec(_LenientWire, frozen=True):
    node_name: str | None = None


class _PodStatus(_LenientWire, frozen=True):
    phase: str = ""


class _Pod(_LenientWire, frozen=True):
    metadata: _PodMetadata
    spec: _PodSpec = _PodSpec()
    status: _PodStatus = _PodStatus()


class _PodList(_LenientWire, frozen=True):
    items: tuple[_Pod, ...] | None = None


class _NodeAddress(_LenientWire, frozen=True):
    type: str
    address: str


class _NodeStatus(_LenientWire, frozen=True):
    addresses: tuple[_NodeAddress, ...] | None = None


class _Node(_LenientWire, frozen=True):
    status: _NodeStatus = _NodeStatus()


class _NodeList(_LenientWire, frozen=True):
    items: tuple[_Node, ...] | None = None


_Read = TypeVar("_Read", _ServiceList, _PodList, _NodeList)


def _decoded(body: bytes, kind: type[_Read], *, what: str) -> _Read:
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise AddressError(f"the answer is no {what}: {error}") from None
