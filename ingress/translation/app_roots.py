"""Redirects the path `/` of hosts whose Ingresses have an `app-root`.

Runs when paths are settled and canaries attached. Source: ingress-nginx v1.15.1, nginx.tmpl: the redirect is a rule of
the whole server, so it needs no path `/`.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from balancer.model.gates import GateRule, in_phases
from balancer.model.routes import PathKind
from ingress.findings import Findings, Severity
from ingress.translation.claims import Claim, subject_of_owner
from ingress.translation.conflicts import SettledHost


def add_app_roots(hosts: Iterable[SettledHost], findings: Findings) -> None:
    """Adds the redirect to each host.

    Of several app-roots that of the longest path counts, as in ingress-nginx. Nobody redirects the path `/` of another
    namespace.
    """
    for host in hosts:
        settled = (*host.paths.values(), *((host.default,) if host.default is not None else ()))
        asking = [each.claim for each in settled if each.claim.app_root is not None and not each.claim.closed]
        if asking:
            _add(host, max(asking, key=lambda claim: (len(claim.path), claim.path)), findings)


def _add(host: SettledHost, asking: Claim, findings: Findings) -> None:
    exact = host.paths.get(("/", PathKind.EXACT))
    root = exact or host.paths.get(("/", PathKind.PREFIX)) or host.default
    base = root.claim if root is not None else asking
    if base.owner.namespace != asking.owner.namespace:
        findings.add(
            subject_of_owner(asking.owner),
            reason="NotRedirected",
            message=f"The {base.place} belongs to {base.owner.kind} {base.owner.full_name}, of another namespace.",
            effect="app-root redirects nothing there.",
            severity=Severity.MISROUTED,
        )
        return
    redirected = msgspec.structs.replace(
        base,
        path="/",
        kind=PathKind.EXACT,
        is_default=False,
        gates=in_phases((*_redirect(asking), *base.gates)),
    )
    if exact is not None:
        exact.claim = redirected
    else:
        host.give(redirected)


def _redirect(claim: Claim) -> tuple[GateRule, ...]:
    return (claim.app_root,) if claim.app_root is not None else ()
