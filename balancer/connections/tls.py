"""Does TLS to both sides: chooses the certificate for a client's handshake, and sets what a handshake with an endpoint
demands.

The first handshake that needs a context makes it; contexts are kept by certificate. So a changed Secret counts from the
next handshake on, and open connections are not affected. Private keys reach OpenSSL through anonymous memory, never
through a file. `cryptography` is imported only to make a certificate, so that workers, which get one, start sooner.
"""

from __future__ import annotations

import logging
import os
import ssl
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from balancer.matching.certificates import by_server_name, certificate_for
from balancer.model.certificates import Certificate
from balancer.model.handshakes import Handshake
from balancer.model.publication import RoutingModel

_LOG = logging.getLogger(__name__)
_SELF_SIGNED_DAYS = 365  # every start makes a new one, and only clients that verify nothing accept it
_ENDPOINT_CONTEXTS = 1024  # far more than anybody has CAs; a context takes milliseconds if it trusts the system's


class ServerNames:
    """Chooses the context of a handshake: exact name, then a wildcard of one label, then the default certificate."""

    __slots__ = ("_by_name", "_contexts", "_fallback", "_goes_by", "listener_context")

    def __init__(self, fallback: Certificate) -> None:
        """`fallback` serves if the model names no default certificate."""
        self._fallback = fallback
        self._by_name: dict[str, Certificate] = {}
        self._contexts: dict[Certificate, ssl.SSLContext] = {}
        self._goes_by = RoutingModel()
        self.listener_context = make_context(fallback)
        self.listener_context.sni_callback = self._choose

    def update(self, model: RoutingModel) -> None:
        """Serves the certificates of `model` from the next handshake on."""
        before, self._goes_by = self._goes_by, model
        if (
            model.certificates is before.certificates
            and model.hosts is before.hosts
            and model.default_certificate == before.default_certificate
        ):
            return  # endpoints change often, and there may be thousands of certificates
        self._by_name = by_server_name(model)
        wanted = {*model.certificates, *self._by_name.values(), self._fallback}
        self._contexts = {key: context for key, context in self._contexts.items() if key in wanted}

    def certificate_for(self, server_name: str | None) -> Certificate:
        """The certificate for a server name as the client sent it (None: the client sent none)."""
        return certificate_for(self._by_name, server_name or "") or self._fallback

    def _choose(self, connection: ssl.SSLObject | ssl.SSLSocket, server_name: str | None, _: ssl.SSLContext) -> None:
        certificate = self.certificate_for(server_name)
        connection.context = self._contexts.get(certificate) or self._make(certificate)

    def _make(self, certificate: Certificate) -> ssl.SSLContext:
        """The cached context of a certificate; that of the fallback if OpenSSL refuses a certificate that the
        translation accepted.
        """
        try:
            context = make_context(certificate)
        except ssl.SSLError as error:
            _LOG.warning("certificate %s cannot be served, the default is: %s", certificate.key, error.reason)
            context = make_context(self._fallback)
        self._contexts[certificate] = context
        return context


def make_context(certificate: Certificate) -> ssl.SSLContext:
    """A server-side context: TLS 1.2 and 1.3, HTTP/1.1 by ALPN, no session tickets. Raises ssl.SSLError."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.options |= ssl.OP_NO_TICKET | ssl.OP_NO_RENEGOTIATION
    context.num_tickets = 0  # Python cannot set ticket keys, and a ticket would be valid for other hosts
    context.set_alpn_protocols(["http/1.1"])
    _load_certificate(context, certificate.chain_pem, certificate.private_key_pem)
    return context


def _load_certificate(context: ssl.SSLContext, chain_pem: bytes, private_key_pem: bytes) -> None:
    """Loads the certificate that handshakes show. Raises ssl.SSLError."""
    descriptor = os.memfd_create("certificate", os.MFD_CLOEXEC)
    try:
        os.write(descriptor, private_key_pem + b"\n" + chain_pem)
        context.load_cert_chain(f"/proc/self/fd/{descriptor}")
    finally:
        os.close(descriptor)


@lru_cache(maxsize=_ENDPOINT_CONTEXTS)
def endpoint_context(tls: Handshake) -> ssl.SSLContext:
    """A client-side context for endpoints: TLS 1.2 and 1.3, HTTP/1.1 only.

    Raises ssl.SSLError for a broken CA and for a client certificate that OpenSSL refuses.

    With `verify`, chain and name are checked (RFC 9525). Without it every certificate is accepted. There is no check of
    only one of the two.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    if not tls.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    elif tls.ca_pem is None:
        context.load_default_certs()
    else:
        try:
            context.load_verify_locations(cadata=tls.ca_pem.decode("ascii"))
        except ValueError:  # empty, or not even ASCII
            raise ssl.SSLError("no certificates to trust") from None
    if tls.chain_pem is not None and tls.private_key_pem is not None:
        _load_certificate(context, tls.chain_pem, tls.private_key_pem)
    return context


def endpoint_name(tls: Handshake, address: str) -> str:
    """The name that a handshake with an endpoint sends and verifies; without a name, `address` is verified."""
    return tls.server_name or (address if tls.verify else "")


def self_signed() -> Certificate:
    """A certificate for no real name, for handshakes that no other certificate fits."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "zonal default certificate")])
    now = datetime.now(UTC)
    expires = now + timedelta(days=_SELF_SIGNED_DAYS)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(expires)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("ingress.local")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    return Certificate(
        key="",
        chain_pem=certificate.public_bytes(serialization.Encoding.PEM),
        private_key_pem=key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        ),
        expires_at_epoch_seconds=expires.timestamp(),
    )
