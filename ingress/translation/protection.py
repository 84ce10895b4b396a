"""Protects whole hosts: what clients must show holds for every path of a host, whichever object claims the path.

Does not know which object says so.
"""

from __future__ import annotations

import msgspec

from balancer.model.client_tls import ClientCertificates, ClientVerification
from balancer.model.gates import in_phases
from balancer.model.routes import Branch, Host, Owner, PathKind, Route, ServiceName
from ingress.translation.claims import HostClaim

_NOBODY = Owner("", "", "")


def protected(host: Host, claimed: HostClaim, default: Route | None, *, plain_paths: tuple[str, ...]) -> Host:
    """`host` as `claimed` protects it. `default` serves where no path and no default of the host match.

    Paths that begin with one of `plain_paths` are served over plain HTTP.
    """
    if claimed.is_denied:
        return _closed(host)
    rule = claimed.client_certificates
    return host if rule is None else _asking(host, rule, host.default or default, plain_paths=plain_paths)


def _closed(host: Host) -> Host:
    owner = host.routes[0].owner if host.routes else _NOBODY
    branch = Branch(None, owner, ServiceName(owner.namespace, ""))
    nowhere = Route("/", PathKind.PREFIX, owner, (branch,), closed=True)
    return msgspec.structs.replace(
        host,
        routes=tuple(msgspec.structs.replace(route, closed=True) for route in host.routes),
        default=msgspec.structs.replace(host.default or nowhere, closed=True),
    )


def _asking(host: Host, rule: ClientCertificates, default: Route | None, *, plain_paths: tuple[str, ...]) -> Host:
    demand = rule.demand if rule.demand.in_handshake else msgspec.structs.replace(rule.demand, host=host.name)
    rule = msgspec.structs.replace(rule, demand=demand)
    return msgspec.structs.replace(
        host,
        routes=tuple(_gated(route, rule, plain_paths) for route in host.routes),
        default=_gated(default, rule, ()) if default is not None else None,
        client_demand=None if demand.verification is ClientVerification.OFF else demand,
    )


def _gated(route: Route, rule: ClientCertificates, plain_paths: tuple[str, ...]) -> Route:
    rule = msgspec.structs.replace(rule, serves_plain=route.path.startswith(plain_paths))
    return msgspec.structs.replace(route, gates=in_phases((*route.gates, rule)))
