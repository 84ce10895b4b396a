"""Divides what workers hold of authorities and revocation lists of clients among namespaces.

Every worker holds each of them in OpenSSL's form, so tenants could otherwise make all workers grow. Knows no Secret.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TypeVar

import msgspec

from balancer.model.client_tls import ClientVerification
from ingress.findings import Findings, Severity
from ingress.translation.claims import Claims, ClientTlsClaim, subject_of_owner
from ingress.translation.secrets.material.bounds import AUTHORITIES_TOGETHER_BYTES
from ingress.translation.sharing import fair_shares

_Claims = TypeVar("_Claims", bound=Claims)


def share_authorities(
    claims: Sequence[_Claims], findings: Findings, *, most_bytes: int = AUTHORITIES_TOGETHER_BYTES
) -> tuple[_Claims, ...]:
    """`claims`, which come by seniority, without authorities for which their namespace has no room.

    All namespaces have `most_bytes` together. One that wants no more than an equal part gets all of it, whatever others
    want. Equal content counts once for a namespace. What has no room closes its hosts, with a finding.
    """
    wanted: dict[str, dict[str, int]] = defaultdict(dict)
    for each in claims:
        if (tls := _asking(each)) is not None and tls.rule is not None:
            wanted[each.owner.namespace][tls.rule.demand.digest] = tls.content_bytes
    if not wanted:
        return tuple(claims)
    shares = fair_shares({namespace: sum(sizes.values()) for namespace, sizes in wanted.items()}, most_bytes)
    held = {namespace: _held(sizes, shares[namespace]) for namespace, sizes in wanted.items()}
    return tuple(_shared(each, held, findings) for each in claims)


def _asking(claims: Claims) -> ClientTlsClaim | None:
    """What `claims` ask clients for in handshakes, if anything."""
    tls = claims.client_tls
    if tls is None or tls.rule is None or tls.rule.demand.verification is ClientVerification.OFF:
        return None
    return tls


def _held(sizes: dict[str, int], share: int) -> frozenset[str]:
    """The digests that fit into `share`, the first ones first."""
    found: set[str] = set()
    for digest, size in sizes.items():
        if size <= share:
            found.add(digest)
            share -= size
    return frozenset(found)


def _shared(claims: _Claims, held: dict[str, frozenset[str]], findings: Findings) -> _Claims:
    tls, namespace = _asking(claims), claims.owner.namespace
    if tls is None or tls.rule is None or tls.rule.demand.digest in held[namespace]:
        return claims
    findings.add(
        subject_of_owner(claims.owner),
        reason="AuthoritiesExceedShare",
        message=f"ca.crt and ca.crl of all Secrets that auth-tls-secret names may have"
        f" {AUTHORITIES_TOGETHER_BYTES // 1024 // 1024} MiB, and older Ingresses of {namespace} have used its share:"
        " name fewer of them, or smaller ones.",
        severity=Severity.CLOSED,
        effect="Every path of the hosts of this Ingress answers 503.",
    )
    return msgspec.structs.replace(claims, client_tls=ClientTlsClaim(None))
