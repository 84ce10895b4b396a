"""Reads a certificate chain and its private key from the PEM texts of a Secret. No I/O.

Refuses what could not be shown in a handshake. No error shows anything of the texts.
"""

from __future__ import annotations

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.asymmetric.types import CertificatePublicKeyTypes, PublicKeyTypes
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key

PARSE_ERRORS = (
    ValueError,
    TypeError,
    UnsupportedAlgorithm,
    x509.DuplicateExtension,
    x509.InvalidVersion,
    x509.UnsupportedGeneralNameType,
)
"""All errors that hostile PEM has caused in the parsers."""

_RSA_BITS_MIN = 2048  # clients and OpenSSL's security level 2 refuse smaller keys (NIST SP 800-131A)


class UnusablePair(Exception):
    """The certificate and key cannot be shown. The text says why, and nothing of their contents."""


def read_pair(chain_pem: bytes | None, private_key_pem: bytes | None) -> x509.Certificate:
    """The first certificate of a chain, if its key is `private_key_pem`. Raises `UnusablePair`."""
    if not chain_pem or not private_key_pem:
        raise UnusablePair("has no tls.crt or no tls.key in base64")
    try:
        leaf = x509.load_pem_x509_certificates(chain_pem)[0]
        # The operator's own key needs no primality proof, which takes milliseconds for each key.
        private_key = load_pem_private_key(private_key_pem, password=None, unsafe_skip_rsa_key_validation=True)
        matches = _same_key(leaf.public_key(), private_key.public_key())
    except PARSE_ERRORS:
        raise UnusablePair("holds a certificate or key that does not parse") from None
    if not matches:
        raise UnusablePair("holds a key of another certificate")
    if isinstance(private_key, RSAPrivateKey) and private_key.key_size < _RSA_BITS_MIN:
        raise UnusablePair(f"holds an RSA key of less than {_RSA_BITS_MIN} bits")
    return leaf


def _same_key(one: CertificatePublicKeyTypes, other: PublicKeyTypes) -> bool:
    form = Encoding.DER, PublicFormat.SubjectPublicKeyInfo
    return one.public_bytes(*form) == other.public_bytes(*form)
