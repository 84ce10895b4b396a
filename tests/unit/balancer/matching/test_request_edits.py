"""What edits of a route and its branch make of the fields that an endpoint gets, in both versions of HTTP."""

from __future__ import annotations

from collections.abc import Iterable

from balancer.http.messages import Fields
from balancer.http.origin import Origin
from balancer.http.passing import passing
from balancer.http.streams import Outgoing
from balancer.http1.fields import endpoint_request_head
from balancer.http2.onward import endpoint_request_fields
from balancer.matching.request_edits import request_editor_of
from balancer.model.edits import RequestEdit
from balancer.model.entry_points import HTTP
from tests.questions import question_of

Values = dict[str, list[str]]


def edited(*edits: RequestEdit, fields: tuple[str, ...] = (), added: Fields = (), underscores: bool = False) -> Values:
    """The values of each field as the endpoint gets them, the same over HTTP/1 and HTTP/2."""
    editor = request_editor_of(edits)
    assert editor is not None
    written: list[Values] = []
    for is_http2 in (False, True):
        request = question_of("http://a.test/", fields).request
        outgoing = Outgoing(request, Origin(peer="192.0.2.1", entry_point=HTTP), b"id", passing=passing(underscores))
        outgoing.added = added
        editor.put_on(outgoing)
        written.append(_of_http2(outgoing) if is_http2 else _of_http1(outgoing))
    assert written[0] == written[1]
    return written[0]


def _of_http1(outgoing: Outgoing) -> Values:
    lines = endpoint_request_head(outgoing).decode("latin-1").split("\r\n")[1:-2]
    return _grouped((name.lower(), value) for name, _, value in (line.partition(": ") for line in lines))


def _of_http2(outgoing: Outgoing) -> Values:
    fields = endpoint_request_fields(outgoing, secure=False)
    named = [("host" if name == b":authority" else name.decode(), value.decode("latin-1")) for name, value in fields]
    return _grouped(field for field in named if not field[0].startswith(":"))


def _grouped(fields: Iterable[tuple[str, str]]) -> Values:
    found: Values = {}
    for name, value in fields:
        found.setdefault(name, []).append(value)
    return found


EDIT = RequestEdit(set=(("X-Set", "new"),), add=(("X-Add", "more"),), remove=("X-Remove",))


def test_fields_are_set_added_and_removed_in_any_case() -> None:
    got = edited(EDIT, fields=("x-set: old", "X-SET: older", "x-add: old", "x-remove: old", "Another: val"))
    assert (got["x-set"], got["x-add"], got["another"]) == (["new"], ["old", "more"], ["val"])
    assert "x-remove" not in got


def test_the_edits_of_a_branch_come_after_those_of_its_route() -> None:
    first = RequestEdit(set=(("X-A", "rule"),), add=(("X-B", "rule"), ("X-C", "rule")))
    second = RequestEdit(set=(("x-a", "branch"),), add=(("X-B", "branch"),), remove=("X-C",))
    got = edited(first, second)
    assert (got["x-a"], got["x-b"]) == (["branch"], ["rule", "branch"])
    assert "x-c" not in got


def test_what_gates_and_the_proxy_say_is_edited_as_well() -> None:
    edit = RequestEdit(set=(("X-Forwarded-Proto", "https"),), remove=("X-Auth", "X-Request-ID"))
    got = edited(edit, added=((b"X-Auth", b"user"), (b"X-Other", b"kept")))
    assert (got["x-forwarded-proto"], got["x-other"]) == (["https"], ["kept"])
    assert "x-auth" not in got
    assert "x-request-id" not in got


def test_no_client_says_a_field_that_is_set_with_another_spelling() -> None:
    edit = RequestEdit(set=(("X-Tenant", "ours"),))
    assert edited(edit, fields=("X_Tenant: theirs",), underscores=True)["x-tenant"] == ["ours"]
    assert "x_tenant" not in edited(edit, fields=("X_Tenant: theirs",), underscores=True)


def test_edits_that_change_nothing_make_no_editor() -> None:
    assert request_editor_of(()) is None
    assert request_editor_of([RequestEdit()]) is None


def test_no_route_removes_what_ends_loops() -> None:
    fields = ("CDN-Loop: zonal", "X-Zonal-Copy: 1", "X-Zonal-Auth-Depth: 2", "X-A: 1")
    edit = RequestEdit(remove=("cdn-loop", "x-zonal-copy", "x-zonal-auth-depth", "x-a"))
    found = edited(edit, fields=fields)
    assert found["cdn-loop"] == ["zonal", "zonal"] or found["cdn-loop"] == ["zonal, zonal"]
    assert (found["x-zonal-copy"], found["x-zonal-auth-depth"], "x-a" in found) == (["1"], ["2"], False)
    editor = request_editor_of([edit])
    assert editor is not None
    marks = ((b"cdn-loop", b"zonal"), (b"x-zonal-copy", b"1"))
    assert editor.edited((*marks, (b"x-a", b"1"))) == marks  # as copies to mirrors have them
