"""Only a chain and a key that fit each other are a pair; whatever else comes is refused and never quoted."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

import pytest
import trustme
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from hypothesis import given
from hypothesis import strategies as st

from ingress.settings.table.tls_keys import KeyBounds
from ingress.translation.secrets.key_pairs import Pair, read_pair
from ingress.translation.secrets.material.bounds import UnusableMaterial
from ingress.translation.secrets.material.pem import blocks, written
from tests.unit.ingress.translation.secrets.material.hostile import (
    Numbers,
    certificate,
    certificates,
    cheap,
    edwards,
    edwards_info,
    honest,
    rsa_info,
    rsa_text,
)

AUTHORITY = trustme.CA(key_type=trustme.KeyType.ECDSA)
ONE = AUTHORITY.issue_cert("one.test", key_type=trustme.KeyType.ECDSA)
CHAIN, KEY = ONE.cert_chain_pems[0].bytes(), ONE.private_key_pem.bytes()
OTHER_KEY = AUTHORITY.issue_cert("other.test", key_type=trustme.KeyType.ECDSA).private_key_pem.bytes()


def read(chain: bytes | None, key: bytes | None) -> Pair:
    return read_pair(chain, key, KeyBounds())


def test_a_pair_gives_the_names_of_the_owner_and_texts_written_anew() -> None:
    pair = read(b"words\n" + CHAIN + b"words\n" + AUTHORITY.cert_pem.bytes() + KEY, CHAIN + KEY + OTHER_KEY)
    assert pair == Pair(CHAIN + AUTHORITY.cert_pem.bytes(), KEY, frozenset({"one.test"}), pair.expires_at_epoch_seconds)
    assert "PRIVATE" not in repr(pair)


@pytest.mark.parametrize("as_pkcs8", [False, True])
def test_an_rsa_key_is_tried_and_keeps_its_form(as_pkcs8: bool) -> None:
    numbers = honest()
    chain, key = certificates(certificate(rsa_info(numbers.n))), rsa_text(numbers, as_pkcs8=as_pkcs8)
    assert read(chain, key).private_key_pem == key


def test_a_certificate_that_names_itself_by_a_uri_alone_is_shown_like_any_other() -> None:
    """As the conformance suite of Gateway API makes them: self-signed, an authority, and `*` is no DNS name."""
    key, now = rsa.generate_private_key(public_exponent=65537, key_size=2048), datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(x509.NameOID.ORGANIZATION_NAME, "Own")])
    builder = x509.CertificateBuilder().issuer_name(name).subject_name(name).public_key(key.public_key())
    builder = builder.serial_number(x509.random_serial_number())
    builder = builder.not_valid_before(now).not_valid_after(now + timedelta(days=1))
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    builder = builder.add_extension(x509.SubjectAlternativeName([x509.UniformResourceIdentifier("*")]), critical=False)
    text = key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
    pair = read(builder.sign(key, SHA256()).public_bytes(Encoding.PEM), text)
    assert (pair.names, pair.private_key_pem) == (frozenset(), text)


def test_a_key_whose_factors_are_not_prime_is_refused_by_its_signature() -> None:
    """All equations hold, but only for prime factors are signatures right."""
    one, other, public = (1 << 1100) + 0xABCDF, (1 << 1100) + 0x1234567, 65537
    private = pow(public, -1, math.lcm(one - 1, other - 1))
    numbers = Numbers(
        one * other, public, private, one, other, private % (one - 1), private % (other - 1), pow(other, -1, one)
    )
    with cheap(), pytest.raises(UnusableMaterial, match="signatures do not verify"):
        read(certificates(certificate(rsa_info(numbers.n))), rsa_text(numbers))


@pytest.mark.parametrize(
    ("chain", "key", "why"),
    [
        (None, KEY, "no tls.crt"),
        (CHAIN, None, "no tls.key"),
        (b"", b"", "no tls.crt"),
        (CHAIN, OTHER_KEY, "another certificate"),
        (AUTHORITY.cert_pem.bytes() + CHAIN, KEY, "another certificate"),
        (CHAIN, b"hunter2", "not parse"),
        (b"hunter2", KEY, "not parse"),
        (CHAIN, KEY[:-40], "not parse"),
    ],
)
def test_what_is_no_pair_is_refused_and_not_quoted(chain: bytes | None, key: bytes | None, why: str) -> None:
    with pytest.raises(UnusableMaterial, match=why) as refused:
        read(chain, key)
    assert "hunter2" not in str(refused.value)


@given(st.integers(0, len(CHAIN) - 1), st.integers(0, len(KEY) - 1), st.binary(max_size=3))
def test_hostile_texts_raise_nothing_else(in_chain: int, in_key: int, noise: bytes) -> None:
    for chain, key in (
        (CHAIN[:in_chain] + noise + CHAIN[in_chain + len(noise) :], KEY),
        (CHAIN, KEY[:in_key] + noise + KEY[in_key + len(noise) :]),
    ):
        try:
            read(chain, key)
        except UnusableMaterial:
            continue


@pytest.mark.parametrize("size", [0, 31, 33, 57])
def test_an_edwards_key_of_another_size_is_refused(size: int) -> None:
    """The library raises an error of its own for it, which is none of those for what does not parse."""
    for private, public in ((size, 32), (32, size)):
        with pytest.raises(UnusableMaterial, match="not parse"):
            read(certificates(certificate(edwards_info(public))), written("PRIVATE KEY", edwards(private)))


EDWARDS = certificates(certificate(edwards_info(32))), written("PRIVATE KEY", edwards(32))


@given(st.sampled_from([(CHAIN, KEY), EDWARDS]), st.booleans(), st.integers(0, 4000), st.binary(max_size=4))
def test_hostile_bytes_inside_of_the_texts_raise_nothing_else(
    pair: tuple[bytes, bytes], in_key: bool, place: int, noise: bytes
) -> None:
    block = next(blocks(pair[in_key]))
    at = place % len(block.der)
    changed = written(block.label, block.der[:at] + noise + block.der[at + len(noise) :])
    try:
        read(*((pair[0], changed) if in_key else (changed, pair[1])))
    except UnusableMaterial:
        return
