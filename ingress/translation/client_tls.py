"""Reads from the annotations of an Ingress, and from their Secret, which certificates its hosts ask clients for.

A Secret that cannot be used closes the hosts of the Ingress, because serving without certificates would be worse. Knows
no host.
"""

from __future__ import annotations

from hashlib import sha256

from cryptography import x509

from balancer.model.client_tls import ClientCertificates, ClientDemand, ClientVerification
from ingress.findings import Report, Severity, quote
from ingress.settings.table.client_tls import ClientTlsOptions
from ingress.sources.inventory import Inventory
from ingress.translation.claims import ClientTlsClaim
from ingress.translation.endpoint_tls import Denied
from ingress.translation.key_pairs import PARSE_ERRORS
from ingress.translation.logins import reference_of

_CERTIFICATES_BYTES_MOST = 256 * 1024
_LISTS_BYTES_MOST = 1024 * 1024
_END = "-----END X509 CRL-----"


def read_client_tls(
    options: ClientTlsOptions, *, namespace: str, other_namespaces: bool, inventory: Inventory, report: Report
) -> ClientTlsClaim | None:
    """What the hosts of an Ingress in `namespace` ask clients for; None: nothing. Raises `Denied`.

    `other_namespaces`: the Secret may be of another namespace. Unlike in ingress-nginx an Ingress that demands
    certificates and names no Secret is closed.
    """
    if not options.secret:
        if options.verification is ClientVerification.ON or options.subject_pattern:
            report.add(
                reason="ClientTlsDenied",
                message="auth-tls-verify-client and auth-tls-match-cn need auth-tls-secret: add it.",
                severity=Severity.CLOSED,
                effect="Every path of the Ingress answers 503.",
            )
            raise Denied
        return None
    problem = _problem(options, namespace, other_namespaces=other_namespaces, inventory=inventory)
    if problem:
        report.add(
            reason="ClientTlsDenied",
            message=f"auth-tls-secret {quote(options.secret)} {problem}",
            severity=Severity.CLOSED,
            effect="Every path of the hosts of this Ingress answers 503.",
        )
        return ClientTlsClaim(None)
    ca_pem, crl_pem = _content(options, namespace, inventory)
    demand = ClientDemand(
        host="",
        authority="/".join(reference_of(options.secret, namespace)),
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
        )
    )


def _problem(options: ClientTlsOptions, namespace: str, *, other_namespaces: bool, inventory: Inventory) -> str:
    """Why the Secret cannot be used, as the end of a sentence with its repair; empty if it can."""
    owner, name = reference_of(options.secret, namespace)
    if "/" not in options.secret:
        return f"names no namespace: write {namespace}/{name}."
    if owner != namespace and not other_namespaces:
        return f"is of another namespace: name one of {namespace}."
    if inventory.secret(owner, name) is None:
        return "does not exist: create it."
    return _content_problem(*_content(options, namespace, inventory))


def _content_problem(ca_pem: bytes, crl_pem: bytes) -> str:
    if not ca_pem:
        return "has no ca.crt in base64: add the certificates that verify clients."
    if len(ca_pem) > _CERTIFICATES_BYTES_MOST or len(crl_pem) > _LISTS_BYTES_MOST:
        return "has a ca.crt of more than 256 KiB or a ca.crl of more than 1 MiB: make it smaller."
    try:
        x509.load_pem_x509_certificates(ca_pem)
    except PARSE_ERRORS:
        return "holds no certificates in ca.crt: correct it."
    try:
        _check_lists(crl_pem)
    except PARSE_ERRORS:
        return "holds no revocation lists in ca.crl: correct or remove it."
    return ""


def _content(options: ClientTlsOptions, namespace: str, inventory: Inventory) -> tuple[bytes, bytes]:
    """The texts of `ca.crt` and `ca.crl`; empty where there is none."""
    secret = inventory.secret(*reference_of(options.secret, namespace))
    if secret is None:
        return b"", b""
    has_list = "ca.crl" in secret.data or "ca.crl" in secret.string_data
    crl_pem = (secret.value("ca.crl") or b"not base64") if has_list else b""
    return secret.value("ca.crt") or b"", crl_pem


def _check_lists(crl_pem: bytes) -> None:
    """Raises one of `PARSE_ERRORS` unless every list of a text can be read. An empty text has none."""
    if not crl_pem:
        return
    parts = crl_pem.decode("ascii").split(_END)
    if len(parts) < 2:
        raise ValueError("no list")
    for part in parts[:-1]:
        x509.load_pem_x509_crl((part + _END).encode())
