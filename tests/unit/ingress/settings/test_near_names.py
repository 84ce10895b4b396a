"""A slip of the pen gets a suggestion, and junk costs nothing."""

from __future__ import annotations

import pytest

from ingress.settings.near_names import near, suggestion

KNOWN = ("rewrite-target", "use-regex", "whitelist-source-range", "http", "https")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("rewrite-targets", "rewrite-target"),
        ("rewrit-target", "rewrite-target"),
        ("Use-Regex", "use-regex"),
        ("whitelist-source-ranges", "whitelist-source-range"),
        ("htpp", ""),
        ("something-else", ""),
        ("", ""),
        ("u", ""),
    ],
)
def test_the_nearest_name_is_meant_if_it_is_near_enough(name: str, meant: str) -> None:
    assert near(name, KNOWN) == meant


def test_a_suggestion_is_a_question_after_a_space() -> None:
    assert suggestion("rewrite-targe", KNOWN) == ' Did you mean "rewrite-target"?'
    assert suggestion("nothing-like-it", KNOWN) == ""


def test_a_name_that_is_too_long_to_be_a_slip_is_not_compared() -> None:
    assert near("rewrite-target" * 100_000, KNOWN) == ""
