"""Who a client says that it is: what is read as a user and a password, as nginx reads it."""

from __future__ import annotations

import pytest

from balancer.matching.basic_credentials import UserPassword, basic_credentials


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (b"Basic Zm9vOmJhcg==", UserPassword(b"foo", b"bar")),
        (b"basic  Zm9vOg", UserPassword(b"foo", b"")),
        (b"Basic OmJhcg==", None),
        (b"Basic Zm9v", None),
        (b"Basic Zm9vOmJhcg==!", None),
        (b"Bearer Zm9vOmJhcg==", None),
        (b"", None),
    ],
)
def test_a_user_needs_no_password(value: bytes, expected: UserPassword | None) -> None:
    assert basic_credentials(((b"authorization", value),)) == expected


def test_one_field_says_it() -> None:
    field = ((b"authorization", b"Basic Zm9vOmJhcg=="),)
    assert basic_credentials(field * 2) is None
    assert basic_credentials(()) is None
