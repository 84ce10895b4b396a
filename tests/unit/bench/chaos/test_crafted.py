"""Crafted keys are what they claim to be: right for their certificates, and far too large inside."""

from __future__ import annotations

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from tests.bench.chaos.crafted import with_huge_exponents, with_long_chain

pytestmark = pytest.mark.large


def test_huge_exponents_stand_in_a_key_that_fits_its_certificate() -> None:
    pair = with_huge_exponents("keys.test")
    key = load_pem_private_key(pair.key, password=None, unsafe_skip_rsa_key_validation=True)
    public = x509.load_pem_x509_certificate(pair.chain).public_key()
    assert isinstance(key, RSAPrivateKey)
    assert key.public_key() == public
    assert 400_000 < len(pair.key) < 1024 * 1024


def test_a_long_chain_is_of_hundreds_of_kibibytes() -> None:
    chain = with_long_chain("chains.test").chain
    assert 300 * 1024 < len(chain) < 1024 * 1024
    assert len(x509.load_pem_x509_certificates(chain)) > 100
