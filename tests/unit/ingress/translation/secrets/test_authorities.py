"""Authorities and revocation lists pass only if each of them can be read, and nothing of them is shown."""

from __future__ import annotations

import datetime

import pytest
import trustme
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.serialization import Encoding, load_pem_private_key

from ingress.settings.table.tls_keys import KeyBounds
from ingress.translation.secrets.authorities import read_authority, read_revocation_lists
from ingress.translation.secrets.material.bounds import UnusableMaterial
from ingress.translation.secrets.material.pem import written
from tests.unit.ingress.translation.secrets.material.hostile import certificate, certificates, cheap, honest, rsa_info

AUTHORITY = trustme.CA(key_type=trustme.KeyType.ECDSA)
PEM = AUTHORITY.cert_pem.bytes()
BOUNDS = KeyBounds()


def revocations() -> bytes:
    now = datetime.datetime.now(datetime.UTC)
    made = x509.CertificateRevocationListBuilder().issuer_name(x509.load_pem_x509_certificate(PEM).subject)
    key = load_pem_private_key(AUTHORITY.private_key_pem.bytes(), password=None)
    signed = made.last_update(now).next_update(now).sign(key, hashes.SHA256())  # type: ignore[arg-type]
    return signed.public_bytes(Encoding.PEM)


@pytest.mark.parametrize("is_announced", [False, True])
def test_authorities_are_written_anew(is_announced: bool) -> None:
    text = b"words\n" + PEM + b"more words\n" + PEM
    assert read_authority(text, BOUNDS, is_announced=is_announced) == PEM + PEM


@pytest.mark.parametrize("text", [b"", b"hunter2", PEM + certificates(b"\x30\x00"), PEM[:-40]])
def test_what_cannot_be_read_is_refused_and_not_quoted(text: bytes) -> None:
    with pytest.raises(UnusableMaterial) as problem:
        read_authority(text, BOUNDS, is_announced=True)
    assert "hunter2" not in str(problem.value)


def test_names_that_every_handshake_would_send_are_bounded() -> None:
    many = certificates(*[certificate(rsa_info(honest().n), filling=4000)] * 9)
    assert read_authority(many, BOUNDS, is_announced=False) == many
    with cheap(), pytest.raises(UnusableMaterial, match="32 KiB"):
        read_authority(many, BOUNDS, is_announced=True)


def test_every_revocation_list_is_read() -> None:
    one = revocations()
    assert read_revocation_lists(b"") == b""
    assert read_revocation_lists(one + b"words\n" + one) == one + one
    for text in (b"hunter2", one + written("X509 CRL", b"\0"), one[:-40]):
        with pytest.raises(UnusableMaterial):
            read_revocation_lists(text)
