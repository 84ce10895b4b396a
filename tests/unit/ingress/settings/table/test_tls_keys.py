"""How large a key may be is what the operator says, within what OpenSSL can do."""

from __future__ import annotations

import pytest

from ingress.settings.table.tls_keys import KeyBounds, rsa_bits
from ingress.settings.values import InvalidValue
from tests.unit.ingress.said import said


@pytest.mark.parametrize("text", ["2048", "4096", "16384"])
def test_the_key_fills_its_field(text: str) -> None:
    assert said({"max-rsa-key-bits": text}).over(KeyBounds()) == KeyBounds(int(text))


@pytest.mark.parametrize("text", ["", "1024", "16385", "4096 ", "-1", "9" * 5000, "٤٠٩٦", "many"])
def test_other_texts_are_invalid(text: str) -> None:
    with pytest.raises(InvalidValue):
        rsa_bits(text)
