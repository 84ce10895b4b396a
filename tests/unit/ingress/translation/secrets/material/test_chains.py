"""Chains and authorities pass only within bounds: what a handshake sends and verifies is known before one happens."""

from __future__ import annotations

import contextlib

import pytest
import trustme
from hypothesis import given
from hypothesis import strategies as st

from ingress.settings.table.tls_keys import KeyBounds
from ingress.translation.secrets.material.bounds import UnusableMaterial
from ingress.translation.secrets.material.chains import read_authorities, read_chain, read_revocations
from ingress.translation.secrets.material.pem import written
from tests.unit.ingress.translation.secrets.material.hostile import (
    algorithm,
    certificate,
    certificates,
    cheap,
    curve,
    der_of,
    honest,
    rsa_info,
    sequence,
    tlv,
)

BOUNDS = KeyBounds()
PEM = trustme.CA(key_type=trustme.KeyType.ECDSA).cert_pem.bytes()
OF_8192 = certificate(rsa_info((1 << 8191) + 1))
OF_16384 = certificate(rsa_info((1 << 16383) + 1))
OF_1024 = certificate(rsa_info((1 << 1023) + 1))
ON_OTHER_CURVE = certificate(sequence(algorithm("ec", curve("secp256k1")), tlv(0x03, b"\0\4")))
HUGE_EXPONENT = certificate(rsa_info(honest().n, (1 << 2000) + 1))


def refused(text: bytes, *, is_authority: bool = False) -> str:
    with cheap(), pytest.raises(UnusableMaterial) as problem:
        (read_authorities if is_authority else read_chain)(text, BOUNDS)
    return str(problem.value)


def test_a_chain_is_read_in_its_order() -> None:
    other = certificate(rsa_info(honest().n))
    assert read_chain(PEM + certificates(other), BOUNDS) == [der_of(PEM), other]
    assert read_authorities(certificates(other) + PEM, BOUNDS) == [other, der_of(PEM)]


def test_a_chain_has_at_most_ten_certificates() -> None:
    assert len(read_chain(PEM * 10, BOUNDS)) == 10
    assert "11 certificates" in refused(PEM * 11)


def test_a_chain_has_at_most_64_kib() -> None:
    large = certificate(rsa_info(honest().n), filling=15_000)
    assert len(read_chain(certificates(large, large), BOUNDS)) == 2
    assert "64 KiB" in refused(certificates(large, large, large))
    assert "128 KiB" in refused(certificates(certificate(rsa_info(honest().n), filling=600_000)))


@pytest.mark.parametrize(
    ("certificate", "why"),
    [
        (OF_8192, "more than 4096"),
        (OF_1024, "less than 2048"),
        (ON_OTHER_CURVE, "none of RSA"),
        (HUGE_EXPONENT, "public exponent"),
        (b"\x30\x00", "does not parse"),
        (sequence(sequence()), "does not parse"),
        (sequence(sequence(*[tlv(0x02, b"\1")] * 9)), "does not parse"),
    ],
)
def test_the_key_of_the_owner_keeps_to_the_bounds(certificate: bytes, why: str) -> None:
    assert why in refused(certificates(certificate))


def test_other_keys_only_verify_and_may_be_larger_or_smaller() -> None:
    assert read_chain(PEM + certificates(OF_8192, OF_1024), BOUNDS)
    assert read_authorities(certificates(OF_8192, OF_1024), BOUNDS)
    for hostile in (OF_16384, ON_OTHER_CURVE, HUGE_EXPONENT):
        assert refused(PEM + certificates(hostile)) == refused(certificates(hostile), is_authority=True)
    assert read_authorities(certificates(OF_16384), KeyBounds(16384))


def test_authorities_have_bounds() -> None:
    assert "larger than 256 KiB" in refused(PEM * (256 * 1024 // len(PEM) + 1), is_authority=True)
    large = certificates(certificate(rsa_info(honest().n), filling=20_000))
    assert "more than 16 KiB" in refused(large, is_authority=True)


def test_revocation_lists_have_bounds() -> None:
    listed = written("X509 CRL", b"content")
    assert read_revocations(PEM + listed * 2) == [b"content"] * 2
    for text, why in ((b"words", "not parse"), (listed * 101, "100 lists"), (listed + b"x" * (1 << 20), "1 MiB")):
        with pytest.raises(UnusableMaterial, match=why):
            read_revocations(text)


@given(st.binary(max_size=60), st.integers(0, len(PEM)))
def test_no_bytes_raise_anything_else(noise: bytes, place: int) -> None:
    for text in (PEM[:place] + noise + PEM[place:], certificates(der_of(PEM)[: place // 2] + noise)):
        for read in (read_chain, read_authorities):
            with contextlib.suppress(UnusableMaterial):
                read(text, BOUNDS)
