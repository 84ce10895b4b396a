"""Only a chain and a key that fit each other are a pair; whatever else comes is refused and never quoted."""

from __future__ import annotations

import pytest
import trustme
from hypothesis import given
from hypothesis import strategies as st

from ingress.translation.key_pairs import UnusablePair, read_pair

AUTHORITY = trustme.CA(key_type=trustme.KeyType.ECDSA)
ONE = AUTHORITY.issue_cert("one.test", key_type=trustme.KeyType.ECDSA)
CHAIN, KEY = ONE.cert_chain_pems[0].bytes(), ONE.private_key_pem.bytes()
OTHER_KEY = AUTHORITY.issue_cert("other.test", key_type=trustme.KeyType.ECDSA).private_key_pem.bytes()


def test_a_pair_gives_the_certificate_of_the_key() -> None:
    assert read_pair(CHAIN + AUTHORITY.cert_pem.bytes(), KEY).serial_number == read_pair(CHAIN, KEY).serial_number


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
    with pytest.raises(UnusablePair, match=why) as refused:
        read_pair(chain, key)
    assert "hunter2" not in str(refused.value)


@given(st.integers(0, len(CHAIN) - 1), st.integers(0, len(KEY) - 1), st.binary(max_size=3))
def test_hostile_texts_raise_nothing_else(in_chain: int, in_key: int, noise: bytes) -> None:
    for chain, key in (
        (CHAIN[:in_chain] + noise + CHAIN[in_chain + len(noise) :], KEY),
        (CHAIN, KEY[:in_key] + noise + KEY[in_key + len(noise) :]),
    ):
        try:
            read_pair(chain, key)
        except UnusablePair:
            continue
