"""Passwords against hashes that other programs made (htpasswd, openssl passwd, slappasswd)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.matching.hashing import is_password
from balancer.matching.stored_hashes import PASSWORD_BYTES_MAX
from tests.properties import examples

OF_BAR = {
    "bcrypt": "$2y$04$/EWqyNTrBrd7g2GUFH8rPuMZAL4D7jSROO4GYAnabkcJ0X0WJ6WQ2",
    "apr1": "$apr1$ww05qL.t$B.mRKbtK9e/MiAZHr/UKK/",
    "md5": "$1$RH3j3o7.$p11A1RHiX1lWe22CghrBq0",
    "sha256": "$5$/SjLz20Kpvd/b7wg$WonF6Tt7nRcETIsYm2nwWTuSvm6Aol0qD1SQRGK.BB3",
    "sha512": "$6$52KASokBDtjk4utK$pnmSPBHdoeFtft8riu8V7xCoqJXtWnedByrJ"
    "/biio3A49cIzofzBNsFkOoWyLHlxomc7PEhwxgFO2FGiZvWTC1",
    "des": "yqC61ewrcitSY",
    "sha1": "{SHA}Ys23Ag/5IOWqZCw9QGaVDdHwH00=",
    "salted-sha1": "{SSHA}AysBYxJj9DuY9EjnEYYbXOc38NU1Zoxx",
    "plain": "{PLAIN}bar",
}

each_scheme = pytest.mark.parametrize("stored", OF_BAR.values(), ids=OF_BAR)


@each_scheme
def test_the_right_password_passes_and_no_other(stored: str) -> None:
    assert is_password(stored, b"bar")
    for wrong in (b"", b"ba", b"barr", b"BAR", b"bar\0", b"\0bar", b"b\xffr", b"bar\n"):
        assert not is_password(stored, wrong)


@pytest.mark.parametrize("stored", [*OF_BAR.values(), "{PLAIN}" + "a" * 1024])
def test_a_password_that_is_too_long_is_refused(stored: str) -> None:
    assert not is_password(stored, b"a" * (PASSWORD_BYTES_MAX + 1))


def test_bcrypt_reads_72_bytes_as_every_other_program() -> None:
    stored = "$2b$04$abcdefghijklmnopqrstuu1qkGcnXOfgLxLzpSrUHTYLxWTzqVu2m"
    assert is_password(stored, b"a" * 80) == is_password(stored, b"a" * 72)


@examples(50)
@given(st.text(alphabet=st.characters(max_codepoint=255), max_size=80), st.binary(max_size=40))
def test_no_text_and_no_password_raises(stored: str, password: bytes) -> None:
    assert is_password(stored, password) in (True, False)


@pytest.mark.parametrize("stored", ["", "{SSHA}" + "=" * 40, "{SHA}" + "+" * 27 + "=", "$2y$04$" + "." * 53])
def test_a_broken_form_lets_nobody_in(stored: str) -> None:
    assert not is_password(stored, b"bar")
