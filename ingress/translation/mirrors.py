"""Decides whether copies of requests may go where an Ingress wants them.

No tenant may send requests into this pod or its cloud; names are looked up when a copy leaves, so only
addresses, and names that the system reads as addresses, are refused here. Does not know how a target is written.
"""

from __future__ import annotations

import msgspec

from balancer.matching.mirroring import MIRROR_URL
from balancer.model.addresses import is_forbidden_host
from balancer.model.mirroring import Mirroring
from ingress.findings import Report, Severity
from ingress.translation.claims import Claim


def permitted_mirroring(claim: Claim, report: Report, *, allow_local: bool) -> Mirroring | None:
    """What the route of `claim` copies; None, with a finding, if no tenant may send requests to the target."""
    mirroring = claim.mirroring
    if mirroring is None:
        return None
    mirroring = msgspec.structs.replace(mirroring, allow_local=allow_local, tenant=claim.owner.namespace)
    if allow_local:
        return mirroring
    parts = MIRROR_URL.fullmatch(mirroring.target)
    if parts is None or not is_forbidden_host(parts["host"]):
        return mirroring
    report.add(
        reason="EndpointRefused",
        message="mirror-target names a loopback, link-local, reserved or metadata address: name another.",
        effect="No copy of the requests is sent.",
        severity=Severity.DEGRADED,
    )
    return None
