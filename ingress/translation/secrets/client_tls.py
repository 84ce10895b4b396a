"""Reads from the annotations of an Ingress, and from their Secret, which certificates its hosts ask clients for.

A Secret that cannot be used closes the hosts of the Ingress, because serving without certificates would be worse. Knows
no host.
"""

from __future__ import annotations

from hashlib import sha256

from balancer.model.client_tls import ClientCertificates, ClientDemand, ClientVerification
from ingress.findings import Report, Severity, quote
from ingress.settings.table.client_tls import ClientTlsOptions
from ingress.sources.inventory import Inventory
from ingress.translation.claims import ClientTlsClaim
from ingress.translation.denying import deny
from ingress.translation.references import References
from ingress.translation.secrets.material.bounds import UnusableMaterial
from ingress.translation.secrets.materials import Materials


def read_client_tls(
    options: ClientTlsOptions, *, references: References, inventory: Inventory, materials: Materials, report: Report
) -> ClientTlsClaim | None:
    """What the hosts of an Ingress with these `references` ask clients for; None: nothing. Raises `Denied`.

    An Ingress that demands certificates and names no Secret is closed.
    """
    if not options.secret:
        if options.verification is ClientVerification.ON or options.subject_pattern:
            message = "auth-tls-verify-client and auth-tls-match-cn need auth-tls-secret: add it."
            deny(report, message, reason="ClientTlsDenied")
        return None
    problem = _problem(options, references, inventory, materials)
    if problem:
        report.add(
            reason="ClientTlsDenied",
            message=problem,
            severity=Severity.CLOSED,
            effect="Every path of the hosts of this Ingress answers 503.",
        )
        return ClientTlsClaim(None)
    ca_pem, crl_pem = _content(options, references, inventory)
    demand = ClientDemand(
        host="",
        authority="/".join(references.key(options.secret)),
        digest=sha256(ca_pem + b"\0" + crl_pem).hexdigest(),
        verification=options.verification or ClientVerification.ON,
        depth=options.depth,
    )
    return ClientTlsClaim(
        ClientCertificates(
            demand,
            error_page=options.error_page,
            passes_certificate=options.passes_certificate,
            subject_pattern=options.subject_pattern,
        ),
        content_bytes=len(ca_pem) + len(crl_pem),
    )


def _problem(options: ClientTlsOptions, references: References, inventory: Inventory, materials: Materials) -> str:
    """Why the Secret cannot be used, as a sentence with its repair; empty if it can."""
    named = f"auth-tls-secret {quote(options.secret)}"
    key = references.key(options.secret)
    if "/" not in options.secret:
        return f"{named} names no namespace: write {'/'.join(key)}."
    if problem := references.problem("auth-tls-secret", options.secret):
        return problem
    problem = inventory.why_no_secret(*key)
    if inventory.secret(*key) is not None:
        problem = _content_problem(*_content(options, references, inventory), materials)
    return problem and references.told("auth-tls-secret", options.secret, f"{named} {problem}")


def _content_problem(ca_pem: bytes, crl_pem: bytes, materials: Materials) -> str:
    """What is wrong with the texts of a Secret, as the end of a sentence with its repair; empty if nothing is."""
    if not ca_pem:
        return "has no ca.crt in base64: add the certificates that verify clients."
    try:
        materials.authority(ca_pem, is_announced=True)
    except UnusableMaterial as problem:
        return f"has a ca.crt that cannot be used, because it {problem}: correct it."
    try:
        materials.revocation_lists(crl_pem)
    except UnusableMaterial as problem:
        return f"has a ca.crl that cannot be used, because it {problem}: correct or remove it."
    return ""


def _content(options: ClientTlsOptions, references: References, inventory: Inventory) -> tuple[bytes, bytes]:
    """The texts of `ca.crt` and `ca.crl`; empty where there is none."""
    secret = inventory.secret(*references.key(options.secret))
    if secret is None:
        return b"", b""
    has_list = "ca.crl" in secret.data or "ca.crl" in secret.string_data
    crl_pem = (secret.value("ca.crl") or b"not base64") if has_list else b""
    return secret.value("ca.crt") or b"", crl_pem
