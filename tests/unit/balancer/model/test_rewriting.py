"""A rewriting that says nothing more takes its groups from the route and tells no prefix."""

from __future__ import annotations

from balancer.model.rewriting import Rewriting


def test_what_a_rewriting_is_by_itself() -> None:
    rewriting = Rewriting("/$1")
    assert (rewriting.target, rewriting.expression, rewriting.forwarded_prefix) == ("/$1", "", "")
