"""Levels inherit as nginx's do."""

from __future__ import annotations

from balancer.model.scripts import Expiry, FieldBeside, FieldChange, OrderedEdits
from ingress.settings.snippets.levels import AccessEntry, Fields, Level

OUTER = Fields(("x-h",), (FieldChange("X-A", "1"),), Expiry(1), says_expiry=True, beside=(FieldBeside("X-B", "1"),))


def test_a_level_that_says_nothing_has_what_the_level_above_says() -> None:
    assert Fields().within(OUTER) == OUTER
    assert OUTER.edits == OrderedEdits(("x-h",), OUTER.changes, Expiry(1), OUTER.beside or ())


def test_only_changes_come_beside_those_of_the_level_above() -> None:
    inner = Fields(("x-i",), (FieldChange("X-A", "2"),), None, says_expiry=True, beside=(FieldBeside("X-C", "1"),))
    assert inner.within(OUTER) == Fields(
        ("x-i",), (*OUTER.changes, *inner.changes), None, says_expiry=True, beside=inner.beside
    )


def test_two_snippets_of_one_level_are_one() -> None:
    first = Level(OUTER, (AccessEntry(True, ("::1/128",)),), (("X-R", "1"),))
    second = Level(Fields(beside=(FieldBeside("X-C", "1"),)), (AccessEntry(False, ("::/0",)),))
    both = first.followed_by(second)
    assert both.fields.beside == (FieldBeside("X-B", "1"), FieldBeside("X-C", "1"))
    assert both.access == (AccessEntry(True, ("::1/128",)), AccessEntry(False, ("::/0",)))
    assert (both.fields.expiry, both.request_fields) == (Expiry(1), (("X-R", "1"),))
    assert first.followed_by(Level()) == Level().followed_by(first) == first


def test_a_level_of_useless_lines_is_empty() -> None:
    assert Level(useless=("line 1: no effect",)).is_empty
    assert not Level(OUTER).is_empty
