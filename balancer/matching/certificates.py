"""Describes certificates."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec

from balancer.model.certificates import Certificate


class CertificateFacts(msgspec.Struct, frozen=True):
    """A certificate for people: the Secret as `namespace/name`, its DNS names, its expiry in ISO 8601 (UTC).

    Without a Secret it is the self-signed certificate, and the expiry is None.
    """

    secret: str | None = None
    names: tuple[str, ...] = ()
    expires: str | None = None


def facts_of(certificate: Certificate | None) -> CertificateFacts:
    """The facts about a certificate. None stands for the self-signed one."""
    if certificate is None:
        return CertificateFacts()
    expires = datetime.fromtimestamp(certificate.expires_at_epoch_seconds, UTC)
    return CertificateFacts(certificate.key, dns_names(certificate), expires.isoformat(timespec="seconds"))


def dns_names(certificate: Certificate) -> tuple[str, ...]:
    """The DNS names of a certificate; empty for one that cannot be read."""
    from cryptography import x509  # a worker starts sooner without it

    try:
        leaf = x509.load_pem_x509_certificates(certificate.chain_pem)[0]
        alternatives = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (ValueError, x509.ExtensionNotFound):
        return ()
    return tuple(alternatives.get_values_for_type(x509.DNSName))
