"""Protects whole hosts: certificates of clients hold for every path of a host, whichever object claims the path.

Source: ingress-nginx v1.15.1, createServers in controller.go. The oldest Ingress with a Secret decides for a host, and
one whose Secret cannot be used closes the host.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from balancer.model.client_tls import ClientCertificates, ClientVerification
from balancer.model.gates import in_phases
from balancer.model.publication import RoutingModel
from balancer.model.routes import Branch, Host, Owner, PathKind, Route, ServiceName
from ingress.findings import Findings, Severity, quote
from ingress.translation.claims import Claims, subject_of_owner
from ingress.translation.conflicts import SettledHost
from ingress.translation.ingress.hosts.other_names import served_as

_NOBODY = Owner("", "", "")


def protect_hosts(hosts: Mapping[str, SettledHost], claims: Iterable[Claims], findings: Findings) -> None:
    """Notes at each host what `claims` ask of its clients. `claims` come by seniority."""
    for each in claims:
        for name in each.hosts if each.client_tls is not None else ():
            settled, rule = hosts[name], each.client_tls.rule if each.client_tls is not None else None
            if rule is None:
                settled.is_denied = True
            elif settled.client_certificates is None:
                settled.client_certificates = rule
            elif settled.client_certificates != rule:
                findings.add(
                    subject_of_owner(each.owner),
                    reason="Conflict",
                    message=f"An older Ingress says which certificates clients of host {quote(name)} need.",
                    severity=Severity.DEGRADED,
                    effect="The annotations auth-tls-* of this Ingress have no effect for that host.",
                )


def with_protection(
    model: RoutingModel, hosts: Mapping[str, SettledHost], *, plain_paths: tuple[str, ...]
) -> RoutingModel:
    """`model` with its hosts protected. Paths that begin with one of `plain_paths` are served over plain HTTP."""
    settled = [(host, served_as(host.name, hosts)) for host in model.hosts]
    if not any(each.is_denied or each.client_certificates for _, each in settled):
        return model
    default = model.configuration().default_route
    return msgspec.structs.replace(
        model,
        hosts=tuple(
            _closed(host) if each.is_denied else _asking(host, each, default, plain_paths=plain_paths)
            for host, each in settled
        ),
    )


def _closed(host: Host) -> Host:
    owner = host.routes[0].owner if host.routes else _NOBODY
    branch = Branch(None, owner, ServiceName(owner.namespace, ""))
    nowhere = Route("/", PathKind.PREFIX, owner, (branch,), closed=True)
    return msgspec.structs.replace(
        host,
        routes=tuple(msgspec.structs.replace(route, closed=True) for route in host.routes),
        default=msgspec.structs.replace(host.default or nowhere, closed=True),
    )


def _asking(host: Host, settled: SettledHost, default: Route | None, *, plain_paths: tuple[str, ...]) -> Host:
    rule = settled.client_certificates
    if rule is None:
        return host
    demand = msgspec.structs.replace(rule.demand, host=host.name)
    rule = msgspec.structs.replace(rule, demand=demand)
    default = host.default or default
    return msgspec.structs.replace(
        host,
        routes=tuple(_gated(route, rule, plain_paths) for route in host.routes),
        default=_gated(default, rule, ()) if default is not None else None,
        client_demand=None if demand.verification is ClientVerification.OFF else demand,
    )


def _gated(route: Route, rule: ClientCertificates, plain_paths: tuple[str, ...]) -> Route:
    rule = msgspec.structs.replace(rule, serves_plain=route.path.startswith(plain_paths))
    return msgspec.structs.replace(route, gates=in_phases((*route.gates, rule)))
