"""Certificates and keys that no honest tenant has: exponents of millions of bits, keys of 8192 bits, endless chains.

Responsible for making them. Each is slow to make, so each is made once.
"""

from __future__ import annotations

import base64
import textwrap
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

_EXPONENT_BITS = 2_000_000
_CHAIN_BYTES = 400 * 1024
_BEGAN = datetime(2024, 1, 1, tzinfo=UTC)
_LASTS = timedelta(days=36500)


class Pair(NamedTuple):
    """A chain and its key, PEM."""

    chain: bytes
    key: bytes


def made(bits: int, host: str) -> tuple[Pair, rsa.RSAPrivateKey]:
    """A key of so many bits with its own certificate."""
    key = rsa.generate_private_key(65537, bits)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, host[:64])])
    builder = x509.CertificateBuilder(
        name, name, key.public_key(), x509.random_serial_number(), _BEGAN, _BEGAN + _LASTS
    )
    builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
    chain = builder.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM)
    return Pair(chain, key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())), key


def with_huge_exponents(host: str) -> Pair:
    """A key whose CRT exponents are right modulo p - 1 and q - 1, and have millions of bits."""
    pair, key = made(2048, host)
    numbers = key.private_numbers()
    added = 1 << _EXPONENT_BITS
    dmp1 = numbers.dmp1 + (numbers.p - 1) * added
    dmq1 = numbers.dmq1 + (numbers.q - 1) * added
    public = numbers.public_numbers
    values = (0, public.n, public.e, numbers.d, numbers.p, numbers.q, dmp1, dmq1, numbers.iqmp)
    return Pair(pair.chain, _pem(_der(0x30, b"".join(map(_integer, values)))))


def with_long_chain(host: str) -> Pair:
    """Its certificate again and again."""
    pair, _ = made(2048, host)
    return Pair(pair.chain * (_CHAIN_BYTES // len(pair.chain)), pair.key)


def _der(tag: int, content: bytes) -> bytes:
    size = len(content)
    if size < 128:
        return bytes((tag, size)) + content
    length = size.to_bytes((size.bit_length() + 7) // 8)
    return bytes((tag, 128 | len(length))) + length + content


def _integer(value: int) -> bytes:
    return _der(0x02, value.to_bytes(value.bit_length() // 8 + 1))


def _pem(der: bytes) -> bytes:
    lines = textwrap.wrap(base64.b64encode(der).decode(), 64)
    return "\n".join(["-----BEGIN RSA PRIVATE KEY-----", *lines, "-----END RSA PRIVATE KEY-----", ""]).encode()
