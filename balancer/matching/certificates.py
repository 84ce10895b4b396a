"""Decides which certificate a server name gets, and describes certificates.

Does not know handshakes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import UTC, datetime

import msgspec

from balancer.model.certificates import Certificate
from balancer.model.publication import RoutingModel


class CertificateFacts(msgspec.Struct, frozen=True):
    """A certificate for people: the Secret as `namespace/name`, its DNS names, its expiry in ISO 8601 (UTC).

    Without a Secret it is the self-signed certificate, and the expiry is None.
    """

    secret: str | None = None
    names: tuple[str, ...] = ()
    expires: str | None = None


def by_server_name(model: RoutingModel) -> dict[str, Certificate]:
    """The usable certificates of a model by host name, including `*.` names. The default one has the empty name."""
    certificates = {certificate.key: certificate for certificate in model.certificates}
    found = {host.name: certificates.get(host.certificate or "") for host in model.hosts if host.name}
    found[""] = certificates.get(model.configuration().default_certificate or "")
    return {name: certificate for name, certificate in found.items() if certificate is not None}


def certificate_for(names: Mapping[str, Certificate], server_name: str) -> Certificate | None:
    """The certificate for a server name: exact name, then a wildcard of one label, then the default one, if any."""
    name = server_name.lower().removesuffix(".")
    _, _, suffix = name.partition(".")
    return names.get(name) or names.get(f"*.{suffix}") or names.get("")


def covering_name(names: Collection[str], server_name: str) -> str | None:
    """The name among `names` that a server name means: itself, or a wildcard of one label. None: no host has it."""
    name = server_name.lower().removesuffix(".")
    if name in names:
        return name
    _, _, suffix = name.partition(".")
    return f"*.{suffix}" if f"*.{suffix}" in names else None


def facts_of(certificate: Certificate | None) -> CertificateFacts:
    """The facts about a certificate. None stands for the self-signed one."""
    if certificate is None:
        return CertificateFacts()
    expires = datetime.fromtimestamp(certificate.expires_at_epoch_seconds, UTC)
    return CertificateFacts(certificate.key, _names(certificate), expires.isoformat(timespec="seconds"))


def _names(certificate: Certificate) -> tuple[str, ...]:
    from cryptography import x509  # a worker starts sooner without it

    try:
        leaf = x509.load_pem_x509_certificates(certificate.chain_pem)[0]
        alternatives = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (ValueError, x509.ExtensionNotFound):
        return ()
    return tuple(alternatives.get_values_for_type(x509.DNSName))
