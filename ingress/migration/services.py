"""Says what becomes of the Service by which clients reach ingress-nginx: its ports, its traffic and its load balancer.

zonal has a Service of its own, so whatever is not a default of the chart must be told to the chart. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from ingress.migration.verdicts import NameReview, NameStanding

_PORTS: Final = frozenset({80, 443})
_SHOWN: Final = 300
_OTHER_PORT: Final = (
    "the Service of the chart has 80, 443 and the ports of tcpServices: set tcpServices for a port of TCP"
)
# Fields that the chart has as values of the same name.
_VALUES: Final = ("loadBalancerClass", "loadBalancerSourceRanges")
_NO_VALUES: Final = ("loadBalancerIP", "externalIPs", "sessionAffinity")
# What tools write about themselves, not about the load balancer.
_OF_TOOLS: Final = ("meta.helm.sh/", "kubectl.kubernetes.io/", "argocd.argoproj.io/", "kustomize.toolkit.fluxcd.io/")


def name_of(service: Mapping[str, Any]) -> str:
    """Namespace and name."""
    metadata = _mapping(service.get("metadata"))
    return f"{metadata.get('namespace') or 'default'}/{metadata.get('name', '')}"


def service_reviews(service: Mapping[str, Any]) -> tuple[NameReview, ...]:
    """What becomes of each field that says how clients come in. `service` is a manifest as it was read."""
    spec, metadata = _mapping(service.get("spec")), _mapping(service.get("metadata"))
    return tuple((*_traffic(spec), *_ports(spec), *_fields(spec), *_annotations(metadata), *_addresses(service)))


def _traffic(spec: Mapping[str, Any]) -> Iterator[NameReview]:
    kind = str(spec.get("type", "ClusterIP"))
    is_same = kind == "LoadBalancer"
    yield _review("type", kind, "" if is_same else f"the chart has LoadBalancer: set service.type={kind}")
    policy = str(spec.get("externalTrafficPolicy", "Cluster"))
    differs = "the chart has Local: clients' addresses are kept, and no node passes connections to another zone"
    yield _review("externalTrafficPolicy", policy, "" if policy == "Local" else differs)


def _ports(spec: Mapping[str, Any]) -> Iterator[NameReview]:
    for port in _items(spec.get("ports")):
        number = _mapping(port).get("port")
        if number in _PORTS:
            yield _review("ports", str(number), "")
        else:
            yield _review("ports", str(number), _OTHER_PORT)


def _fields(spec: Mapping[str, Any]) -> Iterator[NameReview]:
    for name in (*_VALUES, *_NO_VALUES):
        value = spec.get(name)
        if not value or (name, value) == ("sessionAffinity", "None"):
            continue
        to = f"set service.{name} in the values, or it is lost" if name in _VALUES else "the chart has no such value"
        yield _review(name, _text(value), to)


def _annotations(metadata: Mapping[str, Any]) -> Iterator[NameReview]:
    for name, value in sorted(_mapping(metadata.get("annotations")).items()):
        if not str(name).startswith(_OF_TOOLS):
            yield _review(str(name), _text(value), "set it under service.annotations, if it is about the load balancer")


def _addresses(service: Mapping[str, Any]) -> Iterator[NameReview]:
    balancer = _mapping(_mapping(service.get("status")).get("loadBalancer"))
    for each in _items(balancer.get("ingress")):
        address = str(_mapping(each).get("ip") or _mapping(each).get("hostname") or "")
        if address:
            yield _review("address", address, "zonal gets another one: DNS names move when it serves")


def _review(name: str, value: str, how: str) -> NameReview:
    standing = NameStanding.DIFFERS if how else NameStanding.SAME
    return NameReview(name=name, value=value, standing=standing, how=how)


def _text(value: object) -> str:
    return (", ".join(map(str, value)) if isinstance(value, list) else str(value))[:_SHOWN]


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _items(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
