"""Reads a certificate chain and its private key from the PEM texts of a Secret. No I/O.

Refuses what could not be shown in a handshake, and what would cost more than a key of its kind may. The texts of a pair
are written anew from what was judged, so whoever uses them reads nothing else. No error shows anything of the texts.
"""

from __future__ import annotations

from typing import NamedTuple

from cryptography import x509
from cryptography.exceptions import InternalError, InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, EllipticCurvePrivateKey, EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.ed448 import Ed448PrivateKey, Ed448PublicKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, RSAPublicKey
from cryptography.hazmat.primitives.asymmetric.types import CertificatePublicKeyTypes, PrivateKeyTypes, PublicKeyTypes
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_der_private_key,
)

from ingress.settings.table.tls_keys import KeyBounds
from ingress.translation.secrets.material.bounds import UnusableMaterial
from ingress.translation.secrets.material.chains import read_chain
from ingress.translation.secrets.material.keys import read_private_key
from ingress.translation.secrets.material.pem import written

PARSE_ERRORS = (
    ValueError,
    TypeError,
    UnsupportedAlgorithm,
    InternalError,
    x509.DuplicateExtension,
    x509.InvalidVersion,
    x509.UnsupportedGeneralNameType,
)
"""All errors that hostile PEM has caused in the parsers."""

_TRIED = b"zonal tries a key"


class Pair(NamedTuple):
    """A certificate chain and its private key. `names` are the DNS names of its owner, in lower case."""

    chain_pem: bytes
    private_key_pem: bytes
    names: frozenset[str]
    expires_at_epoch_seconds: float

    def __repr__(self) -> str:
        return f"Pair(names={self.names!r})"


def read_pair(chain_pem: bytes | None, private_key_pem: bytes | None, bounds: KeyBounds) -> Pair:
    """A chain whose first certificate has the key `private_key_pem`. Raises `UnusableMaterial`."""
    if not chain_pem or not private_key_pem:
        raise UnusableMaterial("has no tls.crt or no tls.key in base64")
    chain = read_chain(chain_pem, bounds)
    block = read_private_key(private_key_pem, bounds)
    try:
        leaf, *_ = [x509.load_der_x509_certificate(each) for each in chain]
        # `read_private_key` has checked the numbers. OpenSSL would also prove the factors prime, for 60 ms and more.
        private_key = load_der_private_key(block.der, password=None, unsafe_skip_rsa_key_validation=True)
        matches = _same_key(leaf.public_key(), private_key.public_key())
        names, expires_at = _names(leaf), leaf.not_valid_after_utc.timestamp()
    except PARSE_ERRORS:
        raise UnusableMaterial("holds a certificate or key that does not parse") from None
    if not matches:
        raise UnusableMaterial("holds a key of another certificate")
    _try(private_key, leaf.public_key())
    form = PrivateFormat.PKCS8 if block.label == "PRIVATE KEY" else PrivateFormat.TraditionalOpenSSL
    return Pair(
        chain_pem=b"".join(written("CERTIFICATE", each) for each in chain),
        private_key_pem=private_key.private_bytes(Encoding.PEM, form, NoEncryption()),
        names=names,
        expires_at_epoch_seconds=expires_at,
    )


def _same_key(one: CertificatePublicKeyTypes, other: PublicKeyTypes) -> bool:
    form = Encoding.DER, PublicFormat.SubjectPublicKeyInfo
    return one.public_bytes(*form) == other.public_bytes(*form)


def _try(private: PrivateKeyTypes, public: CertificatePublicKeyTypes) -> None:
    """Makes a signature as a handshake does, and verifies it. Raises `UnusableMaterial`."""
    try:
        if isinstance(private, RSAPrivateKey) and isinstance(public, RSAPublicKey):
            public.verify(private.sign(_TRIED, PKCS1v15(), SHA256()), _TRIED, PKCS1v15(), SHA256())
        elif isinstance(private, EllipticCurvePrivateKey) and isinstance(public, EllipticCurvePublicKey):
            public.verify(private.sign(_TRIED, ECDSA(SHA256())), _TRIED, ECDSA(SHA256()))
        elif (isinstance(private, Ed25519PrivateKey) and isinstance(public, Ed25519PublicKey)) or (
            isinstance(private, Ed448PrivateKey) and isinstance(public, Ed448PublicKey)
        ):
            public.verify(private.sign(_TRIED), _TRIED)
        else:
            raise UnusableMaterial("holds a key of a kind that cannot sign")
    except (InvalidSignature, *PARSE_ERRORS):
        raise UnusableMaterial("holds a key whose signatures do not verify") from None


def _names(leaf: x509.Certificate) -> frozenset[str]:
    try:
        extension = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except x509.ExtensionNotFound:
        # Clients have ignored the common name for years (RFC 9525 section 2), and so does zonal.
        return frozenset()
    return frozenset(name.lower() for name in extension.value.get_values_for_type(x509.DNSName))
