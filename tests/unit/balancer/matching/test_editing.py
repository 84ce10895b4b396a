"""Editors are made of every rule of a route, in its order."""

from __future__ import annotations

import msgspec

from balancer.http.edits import HeadEdit
from balancer.http.messages import ResponseHead
from balancer.http.origin import Origin
from balancer.matching.editing import editors_of
from balancer.model.edits import SetFields
from balancer.model.entry_points import HTTP
from tests import builders
from tests.questions import question_of


def test_each_rule_becomes_an_editor_in_its_order() -> None:
    rules = SetFields((("X-One", "1"),)), SetFields((("x-one", "2"), ("X-Two", "\xe4")))
    request, origin = question_of("http://shop.test/").request, Origin(peer="192.0.2.1", entry_point=HTTP)
    edit = HeadEdit()
    for editor in editors_of(msgspec.structs.replace(builders.route(), response_rules=rules)):
        edit = editor.edit(request, origin, ResponseHead(200, (), 0, b""), edit)
    assert edit.removed == {b"x-one", b"x-two"}
    assert edit.added == ((b"x-one", b"2"), (b"X-Two", b"\xe4"))
