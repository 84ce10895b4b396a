"""Redirects paths without their final slash, as nginx does, where the operator wants that.

nginx answers `/a` with a redirect to `/a/` if only `/a/` is a path of the host. Kubernetes says that the prefix `/a/`
matches `/a`, and that the exact path `/a/` does not (networking.k8s.io/v1 HTTPIngressPath). Runs when paths are settled
and expressions made.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from balancer.model.gates import in_phases
from balancer.model.routes import PathKind
from ingress.translation.ingress.hosts.settled import SettledHost


def add_slash_redirects(hosts: Iterable[SettledHost]) -> None:
    """Adds a redirecting path to each host for each path with a final slash. Hosts with expressions have none."""
    for host in hosts:
        for claim in list(host.paths.values()) if host.expressions is None else ():
            bare = claim.path.removesuffix("/")
            if claim.slash_redirect is None or bare in ("", claim.path):
                continue
            if not any((bare, kind) in host.paths for kind in PathKind):
                gates = in_phases((claim.slash_redirect, *claim.gates))
                host.give(msgspec.structs.replace(claim, path=bare, kind=PathKind.EXACT, gates=gates))
