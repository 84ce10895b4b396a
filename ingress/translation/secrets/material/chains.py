"""Judges certificates before a library of cryptography reads them: chains that are shown, and authorities that verify.

It must not know whose they are, nor read anything of a certificate but its public key.
"""

from __future__ import annotations

from ingress.settings.table.tls_keys import KeyBounds
from ingress.translation.secrets.material.bounds import (
    AUTHORITY_BYTES,
    AUTHORITY_RSA_BITS,
    AUTHORITY_TEXT_BYTES,
    CHAIN_BYTES,
    CHAIN_LENGTH,
    CHAIN_TEXT_BYTES,
    REVOCATION_LISTS,
    REVOCATION_TEXT_BYTES,
    RSA_BITS_LEAST,
    UnusableMaterial,
)
from ingress.translation.secrets.material.der import SEQUENCE, MalformedDer, members, only
from ingress.translation.secrets.material.keys import check_public_key
from ingress.translation.secrets.material.pem import MalformedPem, blocks

_CERTIFICATES = frozenset(("CERTIFICATE", "X509 CERTIFICATE"))
_LISTS = frozenset(("X509 CRL",))
_VERSION = 0xA0
_KEY_AT = 5  # behind serial number, algorithm, issuer, times and subject (RFC 5280 4.1)


def read_chain(text: bytes, bounds: KeyBounds) -> list[bytes]:
    """Every certificate of a chain as DER, that of the owner first. Raises `UnusableMaterial`."""
    if len(text) > CHAIN_TEXT_BYTES:
        raise UnusableMaterial(f"holds a chain of more than {CHAIN_TEXT_BYTES // 1024} KiB")
    chain = _contents(text, _CERTIFICATES)
    if len(chain) > CHAIN_LENGTH:
        raise UnusableMaterial(f"holds a chain of {len(chain)} certificates, and {CHAIN_LENGTH} is the most")
    if sum(map(len, chain)) > CHAIN_BYTES:
        raise UnusableMaterial(f"holds a chain of more than {CHAIN_BYTES // 1024} KiB in DER")
    for place, each in enumerate(chain):
        _check(each, bounds, is_owner=place == 0)
    return chain


def read_authorities(text: bytes, bounds: KeyBounds) -> list[bytes]:
    """Every authority of a text as DER. Raises `UnusableMaterial`."""
    if len(text) > AUTHORITY_TEXT_BYTES:
        raise UnusableMaterial(f"is larger than {AUTHORITY_TEXT_BYTES // 1024} KiB")
    found = _contents(text, _CERTIFICATES)
    for each in found:
        if len(each) > AUTHORITY_BYTES:
            raise UnusableMaterial(f"holds a certificate of more than {AUTHORITY_BYTES // 1024} KiB")
        _check(each, bounds, is_owner=False)
    return found


def read_revocations(text: bytes) -> list[bytes]:
    """Every revocation list of a text as DER. Raises `UnusableMaterial`."""
    if len(text) > REVOCATION_TEXT_BYTES:
        raise UnusableMaterial(f"is larger than {REVOCATION_TEXT_BYTES // 1024 // 1024} MiB")
    found = _contents(text, _LISTS)
    if len(found) > REVOCATION_LISTS:
        raise UnusableMaterial(f"holds more than {REVOCATION_LISTS} lists")
    return found


def _contents(text: bytes, labels: frozenset[str]) -> list[bytes]:
    try:
        found = [block.der for block in blocks(text) if block.label in labels]
    except MalformedPem:
        found = []
    if not found:
        raise _does_not_parse()
    return found


def _check(certificate: bytes, bounds: KeyBounds, *, is_owner: bool) -> None:
    """Judges the key of a certificate: an owner's is like its private key, the others only verify."""
    most = bounds.rsa_bits_most
    least, most = (RSA_BITS_LEAST, most) if is_owner else (0, max(most, AUTHORITY_RSA_BITS))
    try:
        check_public_key(_key_of(certificate), rsa_bits_least=least, rsa_bits_most=most)
    except MalformedDer:
        raise _does_not_parse() from None


def _key_of(certificate: bytes) -> bytes:
    """The content of the SubjectPublicKeyInfo of a certificate. Raises `MalformedDer`."""
    (signed, *_) = members(only(certificate, SEQUENCE)) or (None,)
    if signed is None or signed.tag != SEQUENCE:
        raise MalformedDer("no certificate")
    values = members(signed.content)
    at = _KEY_AT + (1 if values and values[0].tag == _VERSION else 0)
    if len(values) <= at or values[at].tag != SEQUENCE:
        raise MalformedDer("no public key")
    return values[at].content


def _does_not_parse() -> UnusableMaterial:
    return UnusableMaterial("holds a certificate or key that does not parse")
