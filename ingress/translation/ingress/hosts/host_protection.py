"""Decides which Ingress says what clients of a whole host must show.

The oldest Ingress with a Secret decides for a host, and one whose Secret cannot be used closes the host. Both hold for
the namespace that claimed the host first: another one would close its paths. Source of the first rule: ingress-nginx
v1.15.1, createServers in controller.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from balancer.model.client_tls import ClientCertificates, ClientVerification
from ingress.findings import Findings, Severity, quote
from ingress.translation.claims import subject_of_owner
from ingress.translation.ingress.hosts.conflicts import note_holder
from ingress.translation.ingress.hosts.settled import OwnClaims, SettledHost


def protect_hosts(hosts: Mapping[str, SettledHost], claims: Iterable[OwnClaims], findings: Findings) -> None:
    """Notes at each host what `claims` ask of its clients. `claims` come by seniority."""
    asking = [each for each in claims if each.client_tls is not None]
    for each in asking:
        for name in each.hosts:
            settled, rule = hosts[name], each.client_tls.rule if each.client_tls is not None else None
            if settled.holder != each.owner.namespace:
                continue
            if rule is None:
                settled.is_denied = True
            elif settled.client_certificates is None:
                settled.client_certificates = rule
            elif settled.client_certificates != rule:
                findings.add(
                    subject_of_owner(each.owner),
                    reason="Conflict",
                    message=f"An older Ingress says which certificates clients of host {quote(name)} need: change that"
                    " one, or remove auth-tls-* from this one.",
                    severity=Severity.DEGRADED,
                    effect="The annotations auth-tls-* of this Ingress have no effect for that host.",
                )
    for each in asking:
        for name in each.hosts:
            if hosts[name].holder != each.owner.namespace:
                _refuse(each, name, hosts[name], findings)


def _refuse(claims: OwnClaims, name: str, host: SettledHost, findings: Findings) -> None:
    """Closes the paths of `claims` at a host of another namespace, unless they are protected as they ask for."""
    rule = claims.client_tls.rule if claims.client_tls is not None else None
    if rule is not None and (_asks_nothing(rule) or rule == host.client_certificates):
        return
    effect = "The paths of this Ingress at the host answer 503."
    note_holder(claims, name, host, findings, what="client certificates", effect=effect, severity=Severity.CLOSED)
    host.change(lambda claim: msgspec.structs.replace(claim, closed=True) if claim.owner == claims.owner else claim)


def _asks_nothing(rule: ClientCertificates) -> bool:
    return rule.demand.verification is ClientVerification.OFF
