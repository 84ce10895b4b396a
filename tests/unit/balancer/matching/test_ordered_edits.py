"""Edits in the order of nginx: changes, then the expiry, then fields beside others."""

from __future__ import annotations

import pytest

from balancer.http.edits import HeadEdit
from balancer.http.messages import Fields, ResponseHead
from balancer.http.origin import Origin
from balancer.matching.ordered_edits import EditPlan, OrderedEditor
from balancer.model.entry_points import HTTP
from balancer.model.scripts import Expiry, FieldBeside, FieldChange, OrderedEdits
from tests.questions import question_of

REQUEST, ORIGIN = question_of("http://shop.test/").request, Origin(peer="192.0.2.1", entry_point=HTTP)
NOW = 1_000_000_000.0


def editor(edits: OrderedEdits) -> OrderedEditor:
    plan = EditPlan(edits)
    return OrderedEditor(plan, [text.encode() for text in plan.texts], lambda: NOW)


def edited(edits: OrderedEdits, status: int = 200, fields: Fields = (), given: HeadEdit | None = None) -> HeadEdit:
    return editor(edits).edit(REQUEST, ORIGIN, ResponseHead(status, fields, 0, b""), given or HeadEdit())


def test_changes_replace_what_was_there_and_fields_beside_do_not() -> None:
    edits = OrderedEdits(changes=(FieldChange("X-A", "2"),), beside=(FieldBeside("X-A", "3"), FieldBeside("X-B", "")))
    edit = edited(edits, given=HeadEdit(frozenset(), ((b"x-a", b"1"),)))
    assert (edit.removed, edit.added) == (frozenset({b"x-a"}), ((b"X-A", b"2"), (b"X-A", b"3")))


@pytest.mark.parametrize(("status", "added"), [(200, 2), (304, 2), (404, 1), (206, 2), (500, 1)])
def test_only_successes_get_fields_that_are_not_for_always(status: int, added: int) -> None:
    edits = OrderedEdits(beside=(FieldBeside("X-A", "1"), FieldBeside("X-B", "1", always=True)))
    assert len(edited(edits, status).added) == added


def test_changes_for_statuses_and_types() -> None:
    edits = OrderedEdits(changes=(FieldChange("X-A", "1", (404,)), FieldChange("X-B", "1", (), ("text/HTML",))))
    html = ((b"content-type", b"text/html; charset=utf-8"),)
    assert edited(edits, 404).added == ((b"X-A", b"1"),)
    assert edited(edits, 200, html).added == ((b"X-B", b"1"),)
    assert edited(edits, 200, given=HeadEdit(frozenset(), ((b"Content-Type", b"text/html"),))).added[1:] == (
        (b"X-B", b"1"),
    )


def test_a_beginning_removes_every_name_that_begins_so() -> None:
    edits = OrderedEdits(changes=(FieldChange("X-A*"),))
    edit = edited(edits, fields=((b"x-ab", b"1"), (b"x-b", b"1")), given=HeadEdit(frozenset(), ((b"X-Ac", b"1"),)))
    assert (edit.removed, edit.added) == (frozenset({b"x-ab", b"x-ac"}), ())


def test_hidden_fields_are_those_of_endpoints_alone() -> None:
    edit = edited(OrderedEdits(hidden=("x-a",)), given=HeadEdit(frozenset(), ((b"X-A", b"ours"),)))
    assert (edit.removed, edit.added) == (frozenset({b"x-a"}), ((b"X-A", b"ours"),))


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [(3600, b"max-age=3600"), (0, b"max-age=0"), (-1, b"no-cache")],
)
def test_an_expiry_is_relative_to_the_response(seconds: int, expected: bytes) -> None:
    edit = edited(OrderedEdits(expiry=Expiry(seconds)), given=HeadEdit(frozenset(), ((b"Expires", b"never"),)))
    said = dict(edit.added)
    assert said[b"Cache-Control"] == expected
    assert said[b"Expires"].startswith(b"Sun, 09 Sep 2001 0")
    assert edited(OrderedEdits(expiry=Expiry(seconds)), 404).added == ()


def test_equal_responses_have_one_edit() -> None:
    once = editor(OrderedEdits(changes=(FieldChange("X-A", "1", (404,)),)))
    given, response = HeadEdit(), ResponseHead(200, (), 0, b"")
    assert once.edit(REQUEST, ORIGIN, response, given) is once.edit(REQUEST, ORIGIN, response, given)
    assert once.edit(REQUEST, ORIGIN, ResponseHead(404, (), 0, b""), given).added == ((b"X-A", b"1"),)


def test_a_plan_knows_whether_it_changes_anything() -> None:
    assert EditPlan(OrderedEdits()).changes_nothing
    assert not EditPlan(OrderedEdits(hidden=("x-a",))).changes_nothing
