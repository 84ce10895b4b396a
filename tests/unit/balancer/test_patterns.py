"""The subset means what `re` means, and no pattern makes a search slow."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from balancer.patterns import STATES_MAX, PatternError, compile_pattern

ATOMS = st.sampled_from(["a", "b", ".", "[ab]", "[^a]", "[a-c-]", r"\d", r"\W", r"\.", "[]a]", r"[\d.]", "-"])
REPEATS = st.sampled_from(["", "", "*", "+", "?", "{2}", "{0}", "{1,2}", "{2,}", "*?", "+?"])
PATTERNS = st.recursive(
    st.lists(st.tuples(ATOMS, REPEATS).map("".join), max_size=3).map("".join),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("|".join),
        st.tuples(inner, REPEATS).map(lambda pair: f"({pair[0]}){pair[1]}"),
        inner.map(lambda text: f"(?:{text})"),
        inner.map(lambda text: f"^{text}"),
        inner.map(lambda text: f"{text}$"),
    ),
    max_leaves=4,
)


@given(PATTERNS, st.lists(st.text("abc1.-", max_size=8), max_size=4))
@settings(max_examples=300)
def test_a_search_finds_what_re_finds(text: str, values: list[str]) -> None:
    pattern, known = compile_pattern(text), re.compile(text.encode())
    for value in map(str.encode, values):
        assert pattern.search(value) is bool(known.search(value)), (text, value)


@pytest.mark.parametrize(
    ("text", "value", "found"),
    [
        ("^(eu|us)-[0-9]+$", b"eu-12", True),
        ("^(eu|us)-[0-9]+$", b"eu-12x", False),
        (".*Firefox.*", b"Mozilla Firefox 1", True),
        ("a|^b$", b"cb", False),
        ("a|^b$", b"b", True),
        ("", b"anything", True),
        ("caf.", b"caf\xe9", True),
    ],
)
def test_what_people_write(text: str, value: bytes, found: bool) -> None:
    assert compile_pattern(text).search(value) is found


@pytest.mark.parametrize(
    "text",
    [
        *(
            "(",
            ")",
            "a)",
            "(a",
            "[",
            "[a",
            "[]",
            "*",
            "a**",
            "a|*",
            "+a",
            "{2}",
            "^*",
            "$+",
            "\\",
            "a{",
            "a{x}",
            "a{,2}",
        ),
        *("a{2,1}", "a{1000}", "(?=a)", "(?<=a)", "(?i)a", r"(a)\1", r"\b", r"\x41", "[[:alpha:]]", "[b-a]", r"[\d-z]"),
        *(
            "é",
            "(" * 30 + "a" + ")" * 30,
            "(a{99}){99}",
            "((((){200}){200}){200}){200}",
            "((((((a{9}){9}){9}){9}){9}){9})",
        ),
    ],
)
def test_what_is_malformed_or_beyond_the_subset_is_refused(text: str) -> None:
    with pytest.raises(PatternError):
        compile_pattern(text)


@pytest.mark.parametrize("text", ["(a*)*b", "(a|a)*b", "(.*)(.*)(.*)(.*)b$", "(a+)+$", "(a|b|ab)*c", "a{90}b{90}"])
def test_a_search_takes_as_many_steps_as_the_text_has_bytes(text: str) -> None:
    """Each of these would keep a backtracking engine busy far beyond the life of this test."""
    assert not compile_pattern(text).search(b"a" * 8000 + b"!")


def test_the_memory_of_steps_stays_bounded() -> None:
    pattern = compile_pattern("(a|b)*a" + "(a|b)" * 14 + "c")
    state = 1
    for _ in range(40):
        bits = []
        for _ in range(400):
            state = state * 1103515245 + 12345 & 0x7FFFFFFF
            bits.append(b"a" if state >> 16 & 1 else b"b")
        assert not pattern.search(b"".join(bits))
    assert len(pattern._steps) <= 4096


def test_a_pattern_has_at_most_so_many_states() -> None:
    compile_pattern("a" * STATES_MAX)
    with pytest.raises(PatternError):
        compile_pattern("a" * (STATES_MAX + 1))
