"""Decides whether copies of requests may go where an Ingress wants them.

No tenant may send requests into this pod or its cloud; names are looked up when a copy leaves, so only addresses are
refused here. Does not know how a target is written.
"""

from __future__ import annotations

import msgspec

from balancer.matching.mirroring import MIRROR_URL, is_local_literal
from balancer.model.mirroring import Mirroring
from ingress.findings import Report, Severity
from ingress.translation.claims import Claim


def permitted_mirroring(claim: Claim, report: Report, *, allow_local: bool) -> Mirroring | None:
    """What the route of `claim` copies; None, with a finding, if the target is a local address."""
    mirroring = claim.mirroring
    if mirroring is None or allow_local:
        return mirroring and msgspec.structs.replace(mirroring, allow_local=allow_local)
    parts = MIRROR_URL.fullmatch(mirroring.target)
    if parts is None or not is_local_literal(parts["host"]):
        return mirroring
    report.add(
        reason="EndpointRefused",
        message="mirror-target names a loopback, link-local or metadata address: name another.",
        effect="No copy of the requests is sent.",
        severity=Severity.DEGRADED,
    )
    return None
