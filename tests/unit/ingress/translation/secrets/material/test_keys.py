"""A key passes only if what one use of it costs is known; every other key is refused before OpenSSL sees it."""

from __future__ import annotations

import contextlib
import secrets

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import dsa, ec, ed448, ed25519, x25519
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from hypothesis import given
from hypothesis import strategies as st

from ingress.settings.table.tls_keys import KeyBounds
from ingress.translation.secrets.material.bounds import UnusableMaterial
from ingress.translation.secrets.material.der import SEQUENCE, MalformedDer, only
from ingress.translation.secrets.material.keys import check_public_key, read_private_key
from ingress.translation.secrets.material.pem import blocks, written
from tests.unit.ingress.translation.secrets.material.hostile import (
    CURVES,
    Numbers,
    algorithm,
    cheap,
    curve,
    edwards,
    edwards_info,
    honest,
    lopsided,
    number,
    pkcs1,
    pkcs8,
    rsa_info,
    rsa_text,
    sequence,
    tlv,
)

BOUNDS = KeyBounds()
GOOD = honest()
MANY_BITS = 2_000_000


def exponents_of_many_bits() -> Numbers:
    """Exponents that are right modulo p - 1 and q - 1, so that signatures verify after seconds."""
    factor = secrets.randbits(MANY_BITS)
    return GOOD._replace(dp=GOOD.dp + factor * (GOOD.p - 1), dq=GOOD.dq + factor * (GOOD.q - 1))


def private(key: PrivateKeyTypes, form: serialization.PrivateFormat = serialization.PrivateFormat.PKCS8) -> bytes:
    return key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())


def refused(text: bytes, bounds: KeyBounds = BOUNDS) -> str:
    with cheap(), pytest.raises(UnusableMaterial) as problem:
        read_private_key(text, bounds)
    return str(problem.value)


@pytest.mark.parametrize("as_pkcs8", [False, True])
def test_an_honest_rsa_key_passes(as_pkcs8: bool) -> None:
    text = rsa_text(GOOD, as_pkcs8=as_pkcs8)
    assert read_private_key(text, BOUNDS) == next(blocks(text))


@pytest.mark.parametrize("form", [serialization.PrivateFormat.PKCS8, serialization.PrivateFormat.TraditionalOpenSSL])
@pytest.mark.parametrize("on", [ec.SECP256R1(), ec.SECP384R1(), ec.SECP521R1()])
def test_a_key_on_a_listed_curve_passes(on: ec.EllipticCurve, form: serialization.PrivateFormat) -> None:
    text = private(ec.generate_private_key(on), form)
    assert read_private_key(text, BOUNDS) == next(blocks(text))


@pytest.mark.parametrize("key", [ed25519.Ed25519PrivateKey.generate(), ed448.Ed448PrivateKey.generate()])
def test_an_edwards_key_passes(key: PrivateKeyTypes) -> None:
    assert read_private_key(private(key), BOUNDS).label == "PRIVATE KEY"


def test_the_key_stands_behind_its_curve_as_openssl_writes_it() -> None:
    key = private(ec.generate_private_key(ec.SECP256R1()), serialization.PrivateFormat.TraditionalOpenSSL)
    assert read_private_key(written("EC PARAMETERS", curve("P-256")) + key, BOUNDS).label == "EC PRIVATE KEY"


@pytest.mark.parametrize(
    ("numbers", "why"),
    [
        (exponents_of_many_bits(), "more than 32 KiB"),
        (GOOD._replace(p=1 << 202_000), "more than 32 KiB"),
        (GOOD._replace(dp=GOOD.dp + (GOOD.p - 1) * (1 << 2048)), "larger than its modulus"),
        (GOOD._replace(dq=GOOD.dq + (GOOD.q - 1) * (1 << 60_000)), "larger than its modulus"),
        (GOOD._replace(p=GOOD.p << 2048), "larger than its modulus"),
        (GOOD._replace(d=GOOD.d + (GOOD.p - 1) * (GOOD.q - 1)), "do not fit|larger than"),
        (GOOD._replace(dp=GOOD.dp + GOOD.p - 1), "do not fit"),
        (GOOD._replace(dq=GOOD.dq + GOOD.q - 1), "do not fit"),
        (GOOD._replace(qi=GOOD.qi + GOOD.p), "do not fit"),
        (GOOD._replace(p=GOOD.q, q=GOOD.p), "do not fit"),
        (GOOD._replace(p=1, q=GOOD.n), "do not fit"),
        (GOOD._replace(p=0, q=0), "do not fit"),
        (GOOD._replace(n=GOOD.n - 1), "even modulus"),
        (GOOD._replace(e=(1 << 4000) + 1), "public exponent"),
        (GOOD._replace(e=(1 << 64) + 1), "public exponent"),
        (GOOD._replace(e=65536), "public exponent"),
        (GOOD._replace(e=1), "public exponent"),
        (GOOD._replace(e=3), "do not fit"),
        (GOOD._replace(n=(1 << 8191) + 1), "more than 4096 bits"),
        (GOOD._replace(n=(1 << 4096) + 1), "more than 4096 bits"),
        (honest(1024), "less than 2048 bits"),
        (lopsided(), "factors differ in size"),
    ],
)
@pytest.mark.parametrize("as_pkcs8", [False, True])
def test_a_hostile_rsa_key_is_refused(numbers: Numbers, why: str, as_pkcs8: bool) -> None:
    problem = refused(rsa_text(numbers, as_pkcs8=as_pkcs8))
    assert any(each in problem for each in why.split("|")), problem


def test_the_operator_says_how_large_a_key_may_be() -> None:
    assert "more than 2048 bits" in refused(rsa_text(GOOD._replace(n=GOOD.n << 1 | 1)), KeyBounds(2048))
    large = rsa_text(GOOD._replace(n=(1 << 8191) + 1))
    assert "do not fit" in refused(large, KeyBounds(8192))  # it is not its size any more


@pytest.mark.parametrize(
    "text",
    [
        private(dsa.generate_private_key(1024)),
        private(dsa.generate_private_key(1024), serialization.PrivateFormat.TraditionalOpenSSL),
        private(x25519.X25519PrivateKey.generate()),
        private(ec.generate_private_key(ec.SECP256K1())),
        private(ec.generate_private_key(ec.SECP256K1()), serialization.PrivateFormat.TraditionalOpenSSL),
        written("PRIVATE KEY", pkcs8(algorithm("dh", sequence(number(GOOD.n), number(2))), number(7))),
        written("PRIVATE KEY", pkcs8(algorithm("ec", sequence(number(1), number(GOOD.n))), sequence(number(1)))),
        written("EC PRIVATE KEY", sequence(number(1), tlv(0x04, b"\1" * 32))),
        written("EC PRIVATE KEY", sequence(number(1), tlv(0x04, b"\1" * 9000), tlv(0xA0, curve("P-256")))),
        written(
            "PRIVATE KEY",
            pkcs8(
                algorithm("ec", curve("P-256")),
                sequence(number(1), tlv(0x04, b"\1" * 32), tlv(0xA0, tlv(0x06, bytes.fromhex("2b81040022")))),
            ),
        ),
        *(written("PRIVATE KEY", edwards(size)) for size in (0, 31, 33, 57, 9000)),
        written("RSA PRIVATE KEY", pkcs1(GOOD, version=1)),
        written("RSA PRIVATE KEY", pkcs1(GOOD) + b"\0"),
        written("RSA PRIVATE KEY", b""),
        b"",
    ],
)
def test_a_key_of_another_kind_is_refused(text: bytes) -> None:
    assert "none of RSA" in (problem := refused(text)) or "does not parse" in problem


def test_an_encrypted_key_is_refused_without_trying_a_password() -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    protection = serialization.BestAvailableEncryption(b"hunter2")
    for form in (serialization.PrivateFormat.PKCS8, serialization.PrivateFormat.TraditionalOpenSSL):
        assert "does not parse" in refused(key.private_bytes(serialization.Encoding.PEM, form, protection))


def info(key: PrivateKeyTypes) -> bytes:
    form = serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    return only(key.public_key().public_bytes(*form), SEQUENCE)


@pytest.mark.parametrize("on", [ec.SECP256R1(), ec.SECP384R1(), ec.SECP521R1()])
def test_public_keys_on_listed_curves_pass(on: ec.EllipticCurve) -> None:
    check_public_key(info(ec.generate_private_key(on)), rsa_bits_most=4096)


def test_public_keys_of_listed_kinds_pass() -> None:
    for key in (ed25519.Ed25519PrivateKey.generate(), ed448.Ed448PrivateKey.generate()):
        check_public_key(info(key), rsa_bits_most=4096)
    check_public_key(only(rsa_info(honest(1024).n), SEQUENCE), rsa_bits_most=4096)
    check_public_key(only(rsa_info(GOOD.n, 3), SEQUENCE), rsa_bits_least=2048, rsa_bits_most=4096)


@pytest.mark.parametrize(
    "key",
    [
        rsa_info((1 << 8191) + 1),
        rsa_info(1 << 4000),
        rsa_info(GOOD.n, (1 << 400) + 1),
        rsa_info(GOOD.n, 4),
        sequence(algorithm("dsa", sequence(number(GOOD.n))), tlv(0x03, b"\0", number(5))),
        sequence(algorithm("ec", sequence(number(1), number(GOOD.n))), tlv(0x03, b"\0\4")),
        *(sequence(algorithm("ec", curve(name)), tlv(0x03, b"\0\4")) for name in CURVES if name != "P-256"),
        sequence(algorithm("ec", curve("P-256")), tlv(0x03, b"\0" + b"\4" * 4000)),
        sequence(algorithm("ec"), tlv(0x03, b"\0\4")),
        *(edwards_info(size) for size in (0, 31, 33, 57, 9000)),
        sequence(algorithm("rsa"), tlv(0x03, b"\1", sequence(number(GOOD.n), number(3)))),
        sequence(algorithm("rsa"), tlv(0x03, b"\0", sequence(number(GOOD.n)))),
        sequence(),
    ],
)
def test_public_keys_that_cost_much_are_refused(key: bytes) -> None:
    with cheap(), pytest.raises((UnusableMaterial, MalformedDer)):
        check_public_key(only(key, SEQUENCE), rsa_bits_most=4096)


@given(st.integers(0, 7), st.integers(-3, 1 << 300))
def test_no_number_can_be_another(which: int, change: int) -> None:
    changed = list(GOOD)
    changed[which] = max(0, changed[which] + change)
    if tuple(changed) == tuple(GOOD):
        return
    try:
        read_private_key(rsa_text(Numbers(*changed)), BOUNDS)
    except UnusableMaterial:
        return
    # Another private exponent may be right as well, and OpenSSL uses it only if the others are missing.
    assert which == 2
    assert changed[2] < GOOD.n


@given(st.binary(min_size=1, max_size=4), st.integers(0, 1190))
def test_no_noise_raises_anything_else(noise: bytes, place: int) -> None:
    der = pkcs1(GOOD)
    for each in (der[:place] + noise + der[place:], der[:place] + noise + der[place + len(noise) :]):
        with contextlib.suppress(UnusableMaterial):
            read_private_key(written("RSA PRIVATE KEY", each), BOUNDS)
