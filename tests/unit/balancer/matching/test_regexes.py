"""A pattern means what it means to `re`, no pattern makes a search slow, and what RE2 refuses is an error."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.matching.regexes import (
    CHARACTERS_MAX,
    INSTRUCTIONS_MAX,
    STEPS_MOST,
    PatternError,
    PatternSet,
    Searches,
    _known_problem,
    _refused,
    compile_pattern,
    pattern_problem,
)
from tests.properties import examples

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
@examples(300)
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
    ("text", "value", "found"),
    [
        (r"(?i)firefox", b"FireFox", True),
        (r"\bcurl\b", b"a curl 8", True),
        (r"\bcurl\b", b"curls", False),
        (r"^[[:alpha:]]+$", b"abc", True),
        (r"\x41", b"A", True),
        ("^.$", "é".encode(), False),
        ("^..$", "é".encode(), True),
        ("a{,2}", b"a{,2}", True),
        (r"^[\d-z]$", b"-", True),
    ],
)
def test_the_syntax_is_that_of_re2_over_single_bytes(text: str, value: bytes, found: bool) -> None:
    assert compile_pattern(text).search(value) is found


@pytest.mark.parametrize(
    "text",
    [
        *("(", ")", "a)", "(a", "[", "[a", "[]", "*", "a**", "a|*", "+a", "^**", "\\", "[b-a]"),
        *(
            "a{2,1}",
            "a{1001}",
            "(a{99}){99}",
            "((((a{9}){9}){9}){9})",
            "(?=a)",
            "(?<=a)",
            r"(a)\1",
            r"\q",
            "é",
            "\ud800",
        ),
    ],
)
def test_what_re2_refuses_is_refused_in_words(text: str) -> None:
    with pytest.raises(PatternError, match=r"^[a-zA-Z]"):
        compile_pattern(text)


@pytest.mark.parametrize("text", ["(a*)*b", "(a|a)*b", "(.*)(.*)(.*)(.*)b$", "(a+)+$", "(a|b|ab)*c", "a{90}b{90}"])
def test_a_search_takes_as_many_steps_as_the_text_has_bytes(text: str) -> None:
    """Each of these would keep a backtracking engine busy far beyond the life of this test."""
    assert not compile_pattern(text).search(b"a" * 8000 + b"!")


def test_texts_made_to_fill_the_memory_of_a_search_are_searched_all_the_same() -> None:
    pattern = compile_pattern("(a|b)*a" + "(a|b)" * 14 + "c")
    state = 1
    for _ in range(40):
        bits = []
        for _ in range(400):
            state = state * 1103515245 + 12345 & 0x7FFFFFFF
            bits.append(b"a" if state >> 16 & 1 else b"b")
        assert not pattern.search(b"".join(bits))
        assert pattern.search(b"".join(bits) + b"a" * 15 + b"c")


def test_a_pattern_has_at_most_so_many_instructions() -> None:
    compile_pattern("a" * (INSTRUCTIONS_MAX - 16))
    compile_pattern("a{200}")
    with pytest.raises(PatternError, match="too large"):
        compile_pattern("a" * INSTRUCTIONS_MAX)
    with pytest.raises(PatternError, match="too large"):
        compile_pattern("(a{20}){20}")


def test_a_text_that_is_very_long_is_not_even_compiled() -> None:
    with pytest.raises(PatternError, match="too large"):
        compile_pattern("a{0}" * (CHARACTERS_MAX // 4) + "b")


def test_a_text_with_many_counted_repetitions_is_not_even_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("balancer.matching.regexes.Pattern", None)
    for text in ("a{1000}" * 16, "a{200}b{0,57}", "a{257,}"):
        with pytest.raises(PatternError, match="too large"):
            compile_pattern(text)


def test_counted_repetitions_that_fit_and_braces_that_count_nothing_are_compiled() -> None:
    assert compile_pattern("a{100}b{0,50}c{2,}").search(b"a" * 100 + b"cc")
    assert compile_pattern(r"a\{1000}").search(b"a{1000}")


@pytest.mark.large
def test_patterns_in_use_are_compiled_once_however_many_others_somebody_has() -> None:
    mine = compile_pattern("^mine$")
    theirs = [compile_pattern(f"^theirs-{number}$") for number in range(5_000)]
    assert compile_pattern("^mine$") is mine
    assert compile_pattern("^theirs-0$") is theirs[0]


def test_what_is_wrong_with_a_text_is_told_again_and_again() -> None:
    assert pattern_problem("(") is not None
    assert pattern_problem("(") == pattern_problem("(")
    for _ in range(2):
        with pytest.raises(PatternError):
            compile_pattern("(")
    assert pattern_problem("^right$") is None


def test_no_long_text_is_remembered() -> None:
    before = _known_problem.cache_info().currsize, len(_refused)
    for text in ("a" * (CHARACTERS_MAX + 1), "(" * 1000, "(a|b)" * 200):
        assert (pattern_problem(text) is None) is text.startswith("(a")
    assert (_known_problem.cache_info().currsize, len(_refused)) == before


def test_what_is_refused_is_written_nowhere_but_into_the_error(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(PatternError):
        compile_pattern("(never-compiled-before")
    assert capfd.readouterr() == ("", "")


def test_a_set_with_much_text_is_made_in_steps_and_finds_the_same() -> None:
    texts = [f"^/{number:03}{'a' * 1000}" for number in range(50)] + [f"^/{number}/" for number in range(200)]
    steps = PatternSet.compiling(texts)
    made = None
    taken = 0
    while made is None:
        try:
            next(steps)
            taken += 1
        except StopIteration as end:
            made = end.value
    assert taken == 10  # 8 of a thousand characters at once, or 64 of any
    for place in (0, 49, 50, 249):
        assert made.first(texts[place].removeprefix("^").encode()) == place
    assert made.first(b"/none") is None


def test_a_request_affords_a_few_long_searches() -> None:
    pattern, searches = compile_pattern("(a|b)*a(a|b){100}c"), Searches()
    most = STEPS_MOST // pattern.instructions
    affords = [searches.afford(pattern, size) for size in (most + 1, most, most, most, 1)]
    assert affords == [False, True, True, False, False]
