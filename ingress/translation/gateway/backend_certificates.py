"""The certificate that a Gateway shows to backends (tls.backend), and why it cannot be used."""

from __future__ import annotations

from ingress.objects.gateway import Gateway
from ingress.translation.gateway.grants import Grants, Referrer
from ingress.translation.gateway.listener_certificates import FindProblem
from ingress.translation.gateway.references import followed
from ingress.translation.gateway.standings import Problem


def shown_certificate(gateway: Gateway, grants: Grants) -> tuple[str, str] | Problem | None:
    """The Secret, by namespace and name, whether it exists or not; None if the Gateway names none."""
    backend = gateway.spec.tls.backend
    reference = backend.client_certificate_ref if backend is not None else None
    if reference is None:
        return None
    return followed(
        reference,
        Referrer("Gateway", gateway.metadata.namespace),
        grants,
        field="clientCertificateRef",
        kind="Secret",
        odd_kind="InvalidClientCertificateRef",
    )


def certificate_problem(gateway: Gateway, grants: Grants, find_problem: FindProblem) -> Problem | None:
    """Why the certificate for backends cannot be shown; None if it can, or if none is asked for."""
    key = shown_certificate(gateway, grants)
    if key is None or isinstance(key, Problem):
        return key
    if said := find_problem("/".join(key)):
        return Problem("InvalidClientCertificateRef", f"Secret {'/'.join(key)} {said}")
    return None
