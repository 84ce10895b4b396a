"""A path means the same to RE2 as to PCRE, or it is refused."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.matching.regexes import PatternError, compile_caseless
from ingress.translation.ingress.path_expressions import OtherMeaning, closing_expression, expression_of


@pytest.mark.parametrize(
    ("path", "expression"),
    [
        ("/", "^/"),
        ("/v1.0/a_b-c~d", "^/v1.0/a_b-c~d"),
        ("/something(/|$)(.*)", "^/something(/|$)(.*)"),
        (r"/a\.b\d{3}$", r"^/a\.b\d{3}$"),
        (r"/a\\.b", r"^/a\.b"),
        ("/a{b}", "^/a{b}"),
        ("/12,3456/(.*)", "^/12,3456/(.*)"),
        ("/id/[0-9]{3,}", "^/id/[0-9]{3,}"),
        ("/caf\u00e9?", r"^/caf(?-i:\xC3)(?-i:\xA9)?"),
        (r"/\x41[\x41-\x5a]", r"^/\x41[\x41-\x5a]"),
    ],
)
def test_the_expression_of_a_path(path: str, expression: str) -> None:
    assert expression_of(path) == expression
    compile_caseless(expression)


@pytest.mark.parametrize(
    "path",
    [
        r"/(a)\1",
        r"/\12",
        r"/\v",
        r"/\pL",
        r"/\X",
        r"/\Qa\E",
        r"/\xe9",
        r"/\x{e9}",
        "/[\u00e9]",
        r"/[\v]",
        "/a{,3}",
        "/\\\u00e9",
    ],
)
def test_what_means_something_else_is_refused(path: str) -> None:
    with pytest.raises(OtherMeaning, match="means something else to RE2"):
        expression_of(path)


@pytest.mark.parametrize("path", ["/[a", "/[[:alpha:]", "/" + "[" * 1000, "/[a\\]"])
def test_a_class_without_its_end_is_refused_where_it_begins(path: str) -> None:
    with pytest.raises(OtherMeaning, match="has no end"):
        expression_of(path)


@pytest.mark.parametrize("path", ["/" + "x{1000}" * 100, "/a{200}b{0,100}", "/x{99999}"])
def test_repetitions_that_would_be_too_large_are_refused_before_they_are_written_out(path: str) -> None:
    with pytest.raises(OtherMeaning, match="too many counted"):
        expression_of(path)


@pytest.mark.parametrize("path", ["/(?!api)", "/a++", "/(?<=a)b", r"/a\Z", r"/\Ga", "/(?>a)", "/a(b"])
def test_what_re2_does_not_know_is_refused_by_re2(path: str) -> None:
    with pytest.raises(PatternError):
        compile_caseless(expression_of(path))


def test_letters_beyond_ascii_keep_their_case_because_nginx_compares_bytes() -> None:
    pattern = compile_caseless(expression_of("/\u00c9cole"))
    assert pattern.search("/\u00c9COLE".encode())
    assert not pattern.search("/\u00e9cole".encode())


@pytest.mark.filterwarnings("ignore:Possible:FutureWarning")  # of `re`, which may read sets otherwise one day
@given(st.from_regex(r"/[ab.*+?()|\[\]^\\$\"']{0,8}", fullmatch=True), st.from_regex(r"/[abAB/]{0,6}", fullmatch=True))
def test_whatever_a_path_may_match_its_closing_expression_matches(path: str, asked: str) -> None:
    try:
        known = re.compile("^" + re.sub(r"\\([\\\"'])", r"\1", path), re.IGNORECASE)
    except re.error:
        return
    if known.search(asked):
        assert compile_caseless(closing_expression(path)).search(asked.encode())
