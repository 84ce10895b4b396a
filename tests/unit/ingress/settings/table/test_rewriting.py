"""Targets and prefixes are read as ingress-nginx reads them."""

from __future__ import annotations

import pytest

from ingress.settings.table.rewriting import forwarded_prefix, rewrite_target
from ingress.settings.values import InvalidValue


@pytest.mark.parametrize("text", ["", "/", "/$1/b.c_d~e-f:g", "new/$2", "https://other.test/$1"])
def test_a_target_is_taken_as_it_is(text: str) -> None:
    assert rewrite_target(text) == text


@pytest.mark.parametrize(
    "text", ["/$1?tag=x", "/a b", "/a;b", "/a\n", "/${1}", " /a", "/a#b", "/\u00e9", "/" + "a" * 2000]
)
def test_a_target_with_other_characters_is_invalid(text: str) -> None:
    with pytest.raises(InvalidValue):
        rewrite_target(text)


def test_a_prefix_has_no_captures() -> None:
    assert forwarded_prefix("/test/value") == "/test/value"
    for text in ("/$1", "/a\r\nX-Evil: 1", "/a b"):
        with pytest.raises(InvalidValue):
            forwarded_prefix(text)
