"""Editors are made of every rule of a route, in its order."""

from __future__ import annotations

from balancer.http.edits import HeadEdit
from balancer.http.messages import ResponseHead
from balancer.http.origin import Origin
from balancer.matching.editing import editors_of
from balancer.model.edits import EditFields, SetFields
from balancer.model.entry_points import HTTP
from tests.questions import question_of


def test_each_rule_becomes_an_editor_in_its_order() -> None:
    rules = SetFields((("X-One", "1"),)), SetFields((("x-one", "2"), ("X-Two", "\xe4")))
    request, origin = question_of("http://shop.test/").request, Origin(peer="192.0.2.1", entry_point=HTTP)
    edit = HeadEdit()
    for editor in editors_of(rules):
        edit = editor.edit(request, origin, ResponseHead(200, (), 0, b""), edit)
    assert edit.removed == {b"x-one", b"x-two"}
    assert edit.added == ((b"x-one", b"2"), (b"X-Two", b"\xe4"))


def test_fields_are_set_added_and_removed() -> None:
    rule = EditFields(set=(("X-Set", "new"),), add=(("X-Add", "more"),), remove=("x-gone",))
    request, origin = question_of("http://shop.test/").request, Origin(peer="192.0.2.1", entry_point=HTTP)
    given = HeadEdit(frozenset(), ((b"X-Gone", b"ours"), (b"x-set", b"ours"), (b"X-Add", b"ours")))
    (editor,) = editors_of([rule])
    edit = editor.edit(request, origin, ResponseHead(200, (), 0, b""), given)
    assert edit.removed == {b"x-set", b"x-gone"}
    assert edit.added == ((b"X-Add", b"ours"), (b"X-Set", b"new"), (b"X-Add", b"more"))
    assert editor.edit(request, origin, ResponseHead(200, (), 0, b""), given) is edit
