"""The text form is read in time that grows with the text, and what was written is what is read."""

from __future__ import annotations

import contextlib
import ssl

import pytest
import trustme
from hypothesis import given
from hypothesis import strategies as st

from ingress.translation.secrets.material.pem import Block, MalformedPem, blocks, written
from tests.unit.ingress.translation.secrets.material.hostile import cheap

PEM = trustme.CA(key_type=trustme.KeyType.ECDSA).cert_pem.bytes()
DER = ssl.PEM_cert_to_DER_cert(PEM.decode())


@given(st.lists(st.tuples(st.sampled_from(("CERTIFICATE", "X509 CRL")), st.binary(max_size=200)), max_size=4))
def test_what_was_written_is_read(content: list[tuple[str, bytes]]) -> None:
    text = b"words\n".join(written(label, der) for label, der in content)
    assert list(blocks(text)) == [Block(*each) for each in content]


def test_it_is_written_as_others_write_it() -> None:
    assert written("CERTIFICATE", DER) == PEM
    assert list(blocks(PEM.replace(b"\n", b"\r\n"))) == list(blocks(b"Bag Attributes\n" + PEM)) == list(blocks(PEM))


@pytest.mark.parametrize(
    "text",
    [
        PEM[:-30],
        PEM.replace(b"END CERTIFICATE", b"END CERTIFICATES"),
        PEM.replace(b"END CERTIFICATE", b"END X509 CRL"),
        PEM.replace(b"CERTIFICATE-----\nM", b"CERTIFICATE-----\nProc-Type: 4,ENCRYPTED\n\nM"),
        written("X" * 65, DER),
        b"-----BEGIN \xff-----\nAAAA\n-----END \xff-----\n",
        b"-----BEGIN ",
    ],
)
def test_what_is_malformed_is_refused(text: bytes) -> None:
    with pytest.raises(MalformedPem):
        list(blocks(text))


@pytest.mark.parametrize("text", [b"-----BEGIN A-----\n" * 40_000, b"-----BEGIN " * 80_000, b"-" * 1_000_000])
def test_no_text_takes_long(text: bytes) -> None:
    with cheap(), contextlib.suppress(MalformedPem):
        assert list(blocks(text)) == []


@given(st.binary(max_size=100), st.integers(0, len(PEM)))
def test_no_noise_raises_anything_else(noise: bytes, place: int) -> None:
    with contextlib.suppress(MalformedPem):
        list(blocks(PEM[:place] + noise + PEM[place:]))
