"""Redirects the path `/` of hosts whose Ingresses have an `app-root`.

Runs when paths are settled, canaries attached and expressions made. Source: ingress-nginx v1.15.1, nginx.tmpl: the
redirect is a rule of the whole server, so it needs no path `/`.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from balancer.matching.regexes import compile_caseless
from balancer.model.gates import GateRule, in_phases
from balancer.model.routes import PathKind
from ingress.findings import Findings, Severity
from ingress.translation.beginnings import beginning
from ingress.translation.claims import subject_of_owner
from ingress.translation.ingress.hosts.settled import PlaceClaim, SettledHost

_ROOT_EXPRESSION = "^/$"


def add_app_roots(hosts: Iterable[SettledHost], findings: Findings) -> None:
    """Adds the redirect to each host.

    Of several app-roots that of the longest path counts, as in ingress-nginx. Nobody redirects the path `/` of another
    namespace, whose own app-root counts then.
    """
    for host in hosts:
        asking = [claim for claim in host.paths.values() if claim.app_root is not None and not claim.closed]
        default = host.default
        if default is not None and default.app_root is not None and not default.closed:
            asking.append(default)
        if asking:
            _settle(host, asking, findings)


def _settle(host: SettledHost, asking: list[PlaceClaim], findings: Findings) -> None:
    root = _root(host)
    namespace = host.holder if root is None else root.owner.namespace
    own = [claim for claim in asking if claim.owner.namespace == namespace]
    if root is not None:
        for other in {claim.owner: claim for claim in asking if claim not in own}.values():
            _note_other(other, root, findings)
        if not own:
            return
    longest = max(own or asking, key=lambda claim: (len(claim.path), claim.path))
    _add(host, longest if root is None else root, longest)


def _note_other(asking: PlaceClaim, root: PlaceClaim, findings: Findings) -> None:
    findings.add(
        subject_of_owner(asking.owner),
        reason="NotRedirected",
        message=f"The {root.place} belongs to {root.owner.kind} {root.owner.full_name}, of another namespace:"
        " set app-root there, or remove it.",
        effect="app-root redirects nothing there.",
        severity=Severity.MISROUTED,
    )


def _add(host: SettledHost, base: PlaceClaim, asking: PlaceClaim) -> None:
    """Redirects the path `/`, which `base` serves, as `asking` wants it."""
    redirected = msgspec.structs.replace(
        base,
        path="/",
        kind=PathKind.EXACT,
        is_default=False,
        expression="",
        long_expression="",
        rewriting=None,
        gates=in_phases((*_redirect(asking), *base.gates)),
    )
    if host.expressions is not None:
        first = msgspec.structs.replace(redirected, expression=_ROOT_EXPRESSION)
        host.expressions = (first, *host.expressions)
    else:
        host.give(redirected)


def _root(host: SettledHost) -> PlaceClaim | None:
    """What would serve the path `/`, or None."""
    if host.expressions is not None:
        found = (each for each in host.expressions if _is_found_in_root(each))
        return next(found, host.default)
    return host.paths.get(("/", PathKind.EXACT)) or host.paths.get(("/", PathKind.PREFIX)) or host.default


def _is_found_in_root(claim: PlaceClaim) -> bool:
    """Whether the expression of `claim` matches the path `/`. Only one that can is compiled."""
    return beginning(claim.path) == "/" and compile_caseless(claim.expression).search(b"/")


def _redirect(claim: PlaceClaim) -> tuple[GateRule, ...]:
    return (claim.app_root,) if claim.app_root is not None else ()
