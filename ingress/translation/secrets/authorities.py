"""Reads certificates that verify clients or endpoints, and revocation lists, from the PEM texts of a Secret. No I/O.

The texts are written anew from what was judged. No error shows anything of them.
"""

from __future__ import annotations

from cryptography import x509

from ingress.settings.table.tls_keys import KeyBounds
from ingress.translation.secrets.key_pairs import PARSE_ERRORS
from ingress.translation.secrets.material.bounds import AUTHORITY_NAMES_BYTES, UnusableMaterial
from ingress.translation.secrets.material.chains import read_authorities, read_revocations
from ingress.translation.secrets.material.pem import written


def read_authority(ca_pem: bytes, bounds: KeyBounds, *, is_announced: bool) -> bytes:
    """The certificates of `ca_pem`, if all can be used. Raises `UnusableMaterial`.

    `is_announced`: handshakes send the names of all these authorities.
    """
    found = read_authorities(ca_pem, bounds)
    try:
        names = [x509.load_der_x509_certificate(each).subject.public_bytes() for each in found]
    except PARSE_ERRORS:
        raise UnusableMaterial("holds no certificates that parse") from None
    if is_announced and sum(map(len, names)) > AUTHORITY_NAMES_BYTES:
        limit = AUTHORITY_NAMES_BYTES // 1024
        raise UnusableMaterial(f"holds authorities whose names have more than {limit} KiB, which every handshake sends")
    return b"".join(written("CERTIFICATE", each) for each in found)


def read_revocation_lists(crl_pem: bytes) -> bytes:
    """The lists of `crl_pem`, if all can be read; an empty text has none. Raises `UnusableMaterial`."""
    if not crl_pem:
        return b""
    found = read_revocations(crl_pem)
    try:
        for each in found:
            x509.load_der_x509_crl(each)
    except PARSE_ERRORS:
        raise UnusableMaterial("holds no revocation lists that parse") from None
    return b"".join(written("X509 CRL", each) for each in found)
