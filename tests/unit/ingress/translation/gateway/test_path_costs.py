"""Expressions of routes are narrow or wide, and long paths are closed that a wide one could match."""

from __future__ import annotations

import pytest

from balancer.matching.regexes import compile_caseless
from ingress.translation.gateway.path_costs import PathCost, cost_of


@pytest.mark.parametrize(
    ("text", "beginning"), [("/A", "/a"), ("/v[0-9]+/users/.*", "/v"), ("^/a/.*", "/a/"), ("/(a|b)/x", "/")]
)
def test_what_costs_little_at_every_length_is_narrow(text: str, beginning: str) -> None:
    assert cost_of(text, text) == PathCost(beginning, text.removeprefix("^"))


@pytest.mark.parametrize(
    ("text", "beginning", "closed", "open_"),
    [
        ("/Api/(a|b)*c", "/api/", b"/Api/x", b"/api/x"),
        (".*[.]png", "/", b"/x", b""),
        ("^/a.*b.*|/c", "/", b"/x", b""),
        ("/x*(a|b)*", "/", b"/x", b""),
    ],
)
def test_long_paths_that_begin_like_a_wide_one_are_closed(
    text: str, beginning: str, closed: bytes, open_: bytes
) -> None:
    cost = cost_of(text, text)
    assert cost.beginning == beginning
    assert cost.instructions > 0
    closing = compile_caseless(cost.closing)
    assert (closing.search(closed), closing.search(open_)) == (True, False)
