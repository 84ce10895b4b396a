"""Which listeners of one port have overlapping TLS: a client may send on one connection what belongs to the other.

Such requests get 421. The listeners say so in the condition OverlappingTLSConfig
(gateway.networking.k8s.io/v1 ListenerConditionOverlappingTLSConfig). Pure.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from balancer.matching.host_names import covering
from balancer.model.route_configurations import Wildcards
from ingress.translation.gateway.hostnames import normal
from ingress.translation.gateway.listeners import ReadListener

_Port = tuple[str, int]


def with_overlaps(listeners: Iterable[ReadListener]) -> tuple[ReadListener, ...]:
    """The listeners, in their order, each with the place of another one whose hostnames are partly its own."""
    known = tuple(listeners)
    ports: dict[_Port, dict[str, ReadListener]] = {}
    for each in known:
        if _has_tls(each):
            ports.setdefault(_port(each), {}).setdefault(normal(each.spec.hostname), each)
    found: dict[str, str] = {}
    for by_name in ports.values():
        for name, each in by_name.items():
            wider = next((other for other in covering(name, by_name, Wildcards.MANY_LABELS) if other != name), None)
            if wider is not None:
                found[each.key] = by_name[wider].place_told_to(each)
                found.setdefault(by_name[wider].key, each.place_told_to(by_name[wider]))
    return tuple(
        msgspec.structs.replace(each, overlaps=other) if (other := found.get(each.key)) else each for each in known
    )


def _has_tls(item: ReadListener) -> bool:
    return item.spec.tls is not None and item.is_open and item.spec.protocol in {"HTTPS", "TLS"}


def _port(item: ReadListener) -> _Port:
    """What only listeners on one port have in common: the route configuration, if Gateways have ports of their own."""
    return item.configuration, item.spec.port
