"""Texts that need no quotes."""

from __future__ import annotations

from ingress.migration.plain_words import is_plain


def test_words_and_names_need_no_quotes() -> None:
    assert all(map(is_plain, ("web", "a.b-c/d", "Zonal", "x1")))


def test_what_a_parser_may_read_as_something_else_needs_quotes() -> None:
    assert not any(map(is_plain, ("", "1e3", "0o7", "on", "NO", "null", "a b", "-x", "a:b", "2026-11-27", "é")))
