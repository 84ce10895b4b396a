"""Writes keys and certificates that no tool would write."""

from __future__ import annotations

import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from math import gcd, lcm
from typing import NamedTuple

from cryptography.hazmat.primitives.asymmetric import rsa

from ingress.translation.secrets.material.pem import written

_OBJECTS = {
    "rsa": "2a864886f70d010101",
    "dsa": "2a8648ce380401",
    "dh": "2a864886f70d010301",
    "ec": "2a8648ce3d0201",
    "sha256-rsa": "2a864886f70d01010b",
}
CURVES = {"P-256": "2a8648ce3d030107", "secp256k1": "2b8104000a", "brainpoolP512r1": "2b240303020801010d"}


class Numbers(NamedTuple):
    """The numbers of an RSA key in the order of RFC 8017 A.1.2."""

    n: int
    e: int
    d: int
    p: int
    q: int
    dp: int
    dq: int
    qi: int


@cache
def honest(bits: int = 2048) -> Numbers:
    """The numbers of a new key."""
    made = rsa.generate_private_key(public_exponent=65537, key_size=bits).private_numbers()
    public = made.public_numbers
    return Numbers(public.n, public.e, made.d, made.p, made.q, made.dmp1, made.dmq1, made.iqmp)


def lopsided() -> Numbers:
    """A key whose numbers fit each other, and whose first factor is tiny: one use costs as much as a large exponent."""
    q, e = honest().n, 65537
    p = next(p for p in (65539, 65543, 65551, 65557) if gcd(e, (p - 1) * (q - 1)) == 1)
    d = pow(e, -1, lcm(p - 1, q - 1))
    return Numbers(p * q, e, d, p, q, d % (p - 1), d % (q - 1), pow(q, -1, p))


def tlv(tag: int, *parts: bytes) -> bytes:
    content = b"".join(parts)
    if len(content) < 0x80:
        return bytes((tag, len(content))) + content
    size = len(content).to_bytes((len(content).bit_length() + 7) // 8, "big")
    return bytes((tag, 0x80 | len(size))) + size + content


def sequence(*parts: bytes) -> bytes:
    return tlv(0x30, *parts)


def number(value: int) -> bytes:
    return tlv(0x02, value.to_bytes(value.bit_length() // 8 + 1, "big"))


def algorithm(name: str, *parameters: bytes) -> bytes:
    return sequence(tlv(0x06, bytes.fromhex(_OBJECTS[name])), *parameters)


def curve(name: str) -> bytes:
    return tlv(0x06, bytes.fromhex(CURVES[name]))


def pkcs1(numbers: Numbers, version: int = 0) -> bytes:
    return sequence(number(version), *map(number, numbers))


def pkcs8(kind: bytes, key: bytes) -> bytes:
    return sequence(number(0), kind, tlv(0x04, key))


def rsa_text(numbers: Numbers, *, as_pkcs8: bool = False) -> bytes:
    if as_pkcs8:
        return written("PRIVATE KEY", pkcs8(algorithm("rsa", tlv(0x05)), pkcs1(numbers)))
    return written("RSA PRIVATE KEY", pkcs1(numbers))


_ED25519 = tlv(0x06, bytes.fromhex("2b6570"))


def rsa_info(n: int, e: int = 65537) -> bytes:
    return sequence(algorithm("rsa", tlv(0x05)), tlv(0x03, b"\0", sequence(number(n), number(e))))


def edwards(size: int) -> bytes:
    """A private key of Ed25519 with so many bytes. OpenSSL has no word for what is wrong with others than 32."""
    return sequence(number(0), sequence(_ED25519), tlv(0x04, tlv(0x04, b"\1" * size)))


def edwards_info(size: int) -> bytes:
    """A public key of Ed25519 with so many bytes."""
    return sequence(sequence(_ED25519), tlv(0x03, b"\0" + b"\1" * size))


def certificate(info: bytes, *, filling: int = 0) -> bytes:
    """A certificate in DER with this key, and a signature that verifies nothing. `filling` are bytes of its names."""
    name = sequence(tlv(0x31, sequence(tlv(0x06, bytes.fromhex("55040d")), tlv(0x0C, b"x" * (filling + 1)))))
    times = sequence(tlv(0x17, b"250101000000Z"), tlv(0x17, b"400101000000Z"))
    signed = algorithm("sha256-rsa", tlv(0x05))
    body = sequence(tlv(0xA0, number(2)), number(1), signed, name, times, name, info)
    return sequence(body, signed, tlv(0x03, b"\0" * 257))


def certificates(*ders: bytes) -> bytes:
    return b"".join(written("CERTIFICATE", each) for each in ders)


def der_of(pem: bytes) -> bytes:
    return ssl.PEM_cert_to_DER_cert(pem.decode())


@contextmanager
def cheap(seconds: float = 0.5) -> Iterator[None]:
    """Fails if what is done inside takes more CPU time. Without bounds it took seconds or minutes."""
    started = time.process_time()
    yield
    assert time.process_time() - started < seconds
