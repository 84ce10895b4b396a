"""Whatever an expression matches begins with the text that is told of it."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingress.translation.beginnings import beginning


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("/api(/|$)(.*)", "/api"),
        ("/ab?c", "/a"),
        ("/ab*", "/a"),
        ("/ab{0,1}", "/a"),
        ("/ab+", "/ab"),
        ("/a|/b", "/"),
        ("/(a|b)", "/"),
        ("/a[|]b", "/a"),
        ("/a\\|b", "/a"),
        ("/?(.*)", "/"),
        ("foo", "/"),
        ("/v1.0/x", "/v1"),
        ("/API/(.*)", "/api/"),
        ("/\u00c9COLE(.*)", "/\u00c9cole"),
        ("/\u212aey/(.*)", "/\u212aey/"),
        ("/a[](]|/b", "/"),
        ("/a[^](]|/b", "/"),
        ("/a[\\](]|/b", "/"),
        ("/a[[:alpha:](]|/b", "/"),
        ("/a\\Q(\\E|/b", "/"),
        ("/a\\c(|/b", "/"),
        ("/a(?#()|/b", "/"),
        ("/a[|", "/"),
        ("/a[[:alpha:]|(]b", "/a"),
        ("/a(?:/|$)", "/a"),
    ],
)
def test_the_beginning_of_an_expression(expression: str, text: str) -> None:
    assert beginning(expression) == text


@pytest.mark.filterwarnings("ignore:Possible:FutureWarning")  # of `re`, which may read sets otherwise one day
@given(st.from_regex(r"/[ab.*+?()|\[\]^\\]{0,8}", fullmatch=True), st.from_regex(r"/[abAB]{0,6}", fullmatch=True))
def test_whatever_an_expression_matches_begins_with_its_beginning(expression: str, text: str) -> None:
    try:
        pattern = re.compile(expression, re.IGNORECASE)
    except re.error:
        return
    if pattern.match(text):
        assert text.lower().startswith(beginning(expression))
