"""The grammar of `--gateway-ports`: on which bound ports entry points of Gateways may stand."""

from __future__ import annotations

from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Final

import msgspec

from ingress.objects.names import SUBDOMAIN

_PORT_MOST: Final = 65535
_PORTS_MOST: Final = 1024  # each is a descriptor of every worker


SERVICE_TYPES: Final = {"load-balancer": "LoadBalancer", "node-port": "NodePort", "cluster-ip": "ClusterIP"}
"""The types of Services that Gateways may have, by the words of `--gateway-addresses`."""


NO_GATEWAYS: Final = "none"
"""The word of `--gateway-addresses` for ports that are for `--tcp-services-configmap` alone."""


class GatewayPorts(msgspec.Struct, frozen=True):
    """Bound ports for entry points of Gateways, none if they are off.

    `targets` are the bound ports; the name of a bound socket is its number as text. `by_client_port` has, for shared
    addresses, pairs of the port of a Gateway and the bound port that it stands on; empty: any port on any target.
    """

    targets: tuple[int, ...] = ()
    by_client_port: tuple[tuple[int, int], ...] = ()


class GatewayServices(msgspec.Struct, frozen=True):
    """Each Gateway has a Service of its own, in `namespace`, whose ports lead to some of the bound ports `targets`.

    `service_type` is that of the Services. Gateways may ask for addresses of `external_networks`, which become
    externalIPs. With a `cluster_domain` each Gateway also has an alias in its own namespace, a Service that stands for
    the DNS name of the other one.
    """

    namespace: str
    targets: tuple[int, ...]
    service_type: str = "LoadBalancer"
    external_networks: tuple[IPv4Network | IPv6Network, ...] = ()
    cluster_domain: str = ""


def read_gateway_ports(text: str) -> GatewayPorts:
    """Reads `A-B` or `A` (a range of bound ports), `P=Q,...` (port of a Gateway = bound port) or nothing.

    Raises ValueError with one line that says what to write.
    """
    if not text:
        return GatewayPorts()
    if "=" in text:
        return _mapped([part.strip() for part in text.split(",")])
    first, dash, last = text.partition("-")
    begin = _port(first)
    end = _port(last) if dash else begin
    if end < begin or end - begin >= _PORTS_MOST:
        raise ValueError(f"{text!r}: give a range of at most {_PORTS_MOST} ports, the lower one first")
    return GatewayPorts(tuple(range(begin, end + 1)))


def read_gateway_services(
    ports: GatewayPorts, addresses: str, networks: str, *, namespace: str, cluster_domain: str = ""
) -> GatewayServices | None:
    """The Services that `addresses` asks for, in `namespace`; None if Gateways share addresses, or are off.

    `addresses` is auto (load-balancer where `ports` are a range, else shared), shared, none, or of `SERVICE_TYPES`.
    `networks` are those of `external_networks`, with commas. Raises ValueError with one line that says what to write.
    """
    if cluster_domain and not SUBDOMAIN.fullmatch(cluster_domain):
        raise ValueError(f"--gateway-aliases {cluster_domain!r} is no domain of a cluster, such as cluster.local")
    given = tuple(_network(part.strip()) for part in networks.split(",")) if networks else ()
    is_range = bool(ports.targets) and not ports.by_client_port
    if addresses == NO_GATEWAYS:
        if is_range:
            raise ValueError("--gateway-addresses none needs --gateway-ports PORT=BOUND,... and no range")
        return None
    if addresses == "auto":
        addresses = "load-balancer" if is_range else "shared"
    if addresses == "shared":
        if is_range:
            raise ValueError("--gateway-addresses shared needs --gateway-ports PORT=BOUND,... and no range")
        return None
    if not is_range:
        raise ValueError(f"--gateway-addresses {addresses} needs a range with --gateway-ports, such as 20000-20063")
    return GatewayServices(namespace, ports.targets, SERVICE_TYPES[addresses], given, cluster_domain)


def _network(text: str) -> IPv4Network | IPv6Network:
    try:
        return ip_network(text)
    except ValueError:
        raise ValueError(f"--gateway-external-ips {text!r} is no network, such as 203.0.113.0/28") from None


def _mapped(parts: list[str]) -> GatewayPorts:
    pairs = []
    for part in parts:
        client, equals, target = part.partition("=")
        if not equals:
            raise ValueError(f"{part!r}: give PORT=BOUND, such as 443=18443")
        pairs.append((_port(client), _port(target)))
    clients, targets = {client for client, _ in pairs}, {target for _, target in pairs}
    if len(clients) < len(pairs) or len(targets) < len(pairs):
        raise ValueError(f"{','.join(parts)!r}: give each port once")
    return GatewayPorts(tuple(target for _, target in pairs), tuple(sorted(pairs)))


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < int(text) <= _PORT_MOST):
        raise ValueError(f"{text!r} is not a port between 1 and {_PORT_MOST}")
    return int(text)
