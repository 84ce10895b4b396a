"""Makes the certificate of a replica, and says whose certificates it accepts, from a secret that all replicas have.

The secret makes the key of an authority, which is the same in all replicas. The authority signs a fresh key of each
replica under an identity of its own. Both sides of a connection verify, so the secret itself is never sent.
"""

from __future__ import annotations

import re
import secrets
import ssl
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from balancer.connections.key_exchanges import only_curves
from balancer.connections.tls import load_certificate
from ingress.settings.options import PeerSecretUnusable

SECRET_BYTES_LEAST: Final = 16
PEER_NAME: Final = "replica.zonal.internal"
"""The name in every certificate. What tells replicas apart is the identity, which is the subject."""

_IDENTITY: Final = re.compile("[0-9a-f]{32}")
_ORDER: Final = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551  # of P-256
_AUTHORITY_NAME: Final = "zonal replicas"
# Clocks of hosts differ, and a certificate lives as long as its process.
_FROM, _UNTIL = datetime(2020, 1, 1, tzinfo=UTC), datetime(2120, 1, 1, tzinfo=UTC)


class ReplicaCredentials:
    """What one replica proves itself with: its identity, the contexts of both sides, and a secret for keys of rows.

    `client` is another one when others are believed. `believed` are the identities of those who are; None: whoever has
    a certificate.
    """

    __slots__ = ("believed", "client", "identity", "row_secret", "server")

    def __init__(self, identity: str, server: ssl.SSLContext, client: ssl.SSLContext, row_secret: bytes) -> None:
        self.identity = identity
        self.server = server
        self.client = client
        self.row_secret = row_secret
        self.believed: frozenset[str] | None = None


def credentials_in(file: Path) -> ReplicaCredentials:
    """Fresh credentials from the secret in a file. Raises `PeerSecretUnusable`."""
    try:
        return credentials_of(file.read_bytes().strip())
    except OSError as error:
        raise PeerSecretUnusable(f"--peer-secret {file}: {error.strerror}") from None
    except ValueError as error:
        raise PeerSecretUnusable(f"--peer-secret {file}: {error}") from None


def credentials_of(secret: bytes, *, until: datetime = _UNTIL) -> ReplicaCredentials:
    """Fresh credentials from the secret of all replicas, with a certificate until a time. Raises ValueError for a
    secret that could be guessed.
    """
    if len(secret) < SECRET_BYTES_LEAST:
        raise ValueError(f"the secret of replicas needs at least {SECRET_BYTES_LEAST} bytes")
    number = int.from_bytes(_derived(secret, b"zonal authority", 48), "big") % (_ORDER - 1) + 1
    authority_key = ec.derive_private_key(number, ec.SECP256R1())
    identity = secrets.token_hex(16)
    own_key = ec.generate_private_key(ec.SECP256R1())
    issuer = named(_AUTHORITY_NAME)
    authority = certificate(issuer, authority_key, authority_key, issuer=issuer, is_authority=True)
    own = certificate(named(identity), own_key, authority_key, issuer=issuer, until=until)
    key_pem = own_key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    contexts = [
        context(protocol, authority.public_bytes(Encoding.PEM), own.public_bytes(Encoding.PEM), key_pem)
        for protocol in (ssl.PROTOCOL_TLS_SERVER, ssl.PROTOCOL_TLS_CLIENT)
    ]
    return ReplicaCredentials(identity, contexts[0], contexts[1], _derived(secret, b"zonal rows", 32))


def identity_in(shown: object) -> str:
    """The identity in a verified certificate, as `getpeercert` shows it; empty if there is none that we would make."""
    subject = shown.get("subject", ()) if isinstance(shown, dict) else ()
    found = next((value for part in subject for name, value in part if name == "commonName"), "")
    return found if _IDENTITY.fullmatch(found) else ""


def _derived(secret: bytes, purpose: bytes, length: int) -> bytes:
    return HKDF(algorithm=hashes.SHA256(), length=length, salt=None, info=purpose).derive(secret)


def named(common_name: str) -> x509.Name:
    """A name for a certificate."""
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def certificate(
    subject: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    signer: ec.EllipticCurvePrivateKey,
    *,
    issuer: x509.Name,
    is_authority: bool = False,
    until: datetime = _UNTIL,
) -> x509.Certificate:
    """A certificate of `subject`, who has `key`, until a time."""
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(_FROM)
        .not_valid_after(until)
        .add_extension(x509.BasicConstraints(ca=is_authority, path_length=0 if is_authority else None), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(PEER_NAME)]), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False)
        .sign(signer, hashes.SHA256())
    )


def context(protocol: int, authorities_pem: bytes, certificate_pem: bytes, key_pem: bytes) -> ssl.SSLContext:
    """A context for one side of connections that trusts these authorities alone."""
    only_curves()
    made = ssl.SSLContext(protocol)
    made.minimum_version = ssl.TLSVersion.TLSv1_3
    made.load_verify_locations(cadata=authorities_pem.decode("ascii"))
    made.verify_mode = ssl.CERT_REQUIRED
    load_certificate(made, certificate_pem, key_pem)
    return made
