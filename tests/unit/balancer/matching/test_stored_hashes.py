"""Stored forms of passwords: which scheme a text is of, and which texts cost too much to check."""

from __future__ import annotations

import pytest

from balancer.matching.stored_hashes import Scheme, scheme_of

SHA256, SHA512 = "a" * 43, "a" * 86


@pytest.mark.parametrize(
    ("stored", "scheme"),
    [
        ("$2y$04$" + "a" * 53, Scheme.BCRYPT),
        ("$2b$14$" + "a" * 53, Scheme.BCRYPT),
        ("$apr1$salt$" + "a" * 22, Scheme.APR1),
        ("$1$salt$" + "a" * 22, Scheme.MD5_CRYPT),
        ("$5$salt$" + SHA256, Scheme.SHA256_CRYPT),
        ("$5$rounds=200000$salt$" + SHA256, Scheme.SHA256_CRYPT),
        ("$6$salt$" + SHA512, Scheme.SHA512_CRYPT),
        ("yqC61ewrcitSY", Scheme.DES_CRYPT),
        ("{SHA}Ys23Ag/5IOWqZCw9QGaVDdHwH00=", Scheme.SHA1),
        ("{SSHA}AysBYxJj9DuY9EjnEYYbXOc38NU1Zoxx", Scheme.SALTED_SHA1),
        ("{PLAIN}bar", Scheme.PLAIN),
    ],
)
def test_the_forms_that_nginx_knows(stored: str, scheme: Scheme) -> None:
    assert scheme_of(stored) is scheme


@pytest.mark.parametrize(
    "stored",
    [
        "",
        "bar",
        "{PLAIN}",
        "{SHA}short",
        "$2y$15$" + "a" * 53,
        "$2y$31$" + "a" * 53,
        "$2y$03$" + "a" * 53,
        "$5$rounds=200001$salt$" + SHA256,
        "$6$rounds=999999999$salt$" + SHA512,
        "$y$j9T$salt$hash",
        "$argon2id$v=19$m=65536$salt$hash",
        "$apr1$salt$" + "a" * 22 + "\n",
    ],
)
def test_what_is_unknown_or_takes_too_long_is_of_no_scheme(stored: str) -> None:
    assert scheme_of(stored) is None
