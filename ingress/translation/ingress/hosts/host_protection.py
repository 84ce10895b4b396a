"""Decides which Ingress says what clients of a whole host must show.

Source: ingress-nginx v1.15.1, createServers in controller.go. The oldest Ingress with a Secret decides for a host, and
one whose Secret cannot be used closes the host.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ingress.findings import Findings, Severity, quote
from ingress.translation.claims import subject_of_owner
from ingress.translation.ingress.hosts.settled import OwnClaims, SettledHost


def protect_hosts(hosts: Mapping[str, SettledHost], claims: Iterable[OwnClaims], findings: Findings) -> None:
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
