"""Edits of response heads, made of the settings."""

from __future__ import annotations

from balancer.http.edits import FieldSetter, HeadEdit, SecureFieldSetter, response_edits
from balancer.http.messages import ResponseHead
from balancer.http.origin import Origin
from balancer.model.entry_points import HTTP, HTTPS
from balancer.model.settings import ProxySettings
from tests.questions import question_of


def test_by_default_the_server_field_ends_here_and_only_https_answers_carry_hsts() -> None:
    edits = response_edits(ProxySettings(hsts="max-age=5"))
    plain, secure = edits.plain, edits.secure
    assert plain.removed == {b"server"}
    assert plain.added == ()
    assert secure.removed == {b"server", b"strict-transport-security"}
    assert secure.added == ((b"Strict-Transport-Security", b"max-age=5"),)


def test_without_hsts_the_endpoint_decides_about_it() -> None:
    edits = response_edits(ProxySettings(hsts=None))
    assert edits.plain is edits.secure
    assert b"strict-transport-security" not in edits.plain.removed


def test_an_added_field_takes_the_place_of_the_endpoints() -> None:
    settings = ProxySettings(
        hsts=None, allow_backend_server_header=True, response_fields=(("X-Frame-Options", "DENY"),)
    )
    plain = response_edits(settings).plain
    assert plain.removed == {b"x-frame-options"}
    assert plain.added == ((b"X-Frame-Options", b"DENY"),)


def set_fields(given: HeadEdit, *, replaces: bool) -> HeadEdit:
    request, origin = question_of("http://shop.test/").request, Origin(peer="192.0.2.1", entry_point=HTTP)
    setter = FieldSetter(((b"Set-Cookie", b"b=2"),), replaces=replaces)
    return setter.edit(request, origin, ResponseHead(200, (), 0, b""), given)


def test_a_setter_replaces_fields_or_adds_to_them() -> None:
    given = HeadEdit(frozenset((b"server",)), ((b"set-cookie", b"a=1"), (b"Date", b"now")))
    replaced, beside = set_fields(given, replaces=True), set_fields(given, replaces=False)
    assert replaced.removed == {b"server", b"set-cookie"}
    assert replaced.added == ((b"Date", b"now"), (b"Set-Cookie", b"b=2"))
    assert beside.removed == {b"server"}
    assert beside.added == ((b"set-cookie", b"a=1"), (b"Date", b"now"), (b"Set-Cookie", b"b=2"))


def test_hidden_fields_end_here_and_what_the_settings_add_is_sent_all_the_same() -> None:
    settings = ProxySettings(hsts=None, hidden_fields=("x-powered-by", "x-a"), response_fields=(("X-A", "1"),))
    plain = response_edits(settings).plain
    assert plain.removed == {b"server", b"x-powered-by", b"x-a"}
    assert plain.added == ((b"X-A", b"1"),)


def test_the_proxy_names_itself_only_where_the_endpoint_may_not() -> None:
    ours = ((b"Server", b"zonal"),)
    assert response_edits(ProxySettings(names_server=True)).plain.added == ours
    assert response_edits(ProxySettings(names_server=True, hidden_fields=("server",))).plain.added == ours
    assert response_edits(ProxySettings(names_server=True, allow_backend_server_header=True)).plain.added == ()
    own = response_edits(ProxySettings(names_server=True, response_fields=(("Server", "shop"),)))
    assert own.plain.added == ((b"Server", b"shop"),)


def test_a_setter_for_https_leaves_plain_responses_alone() -> None:
    request, given = question_of("http://shop.test/").request, HeadEdit()
    setter, head = SecureFieldSetter(((b"X-A", b"1"),)), ResponseHead(200, (), 0, b"")
    assert setter.edit(request, Origin(peer="192.0.2.1", entry_point=HTTP), head, given) is given
    assert setter.edit(request, Origin(peer="192.0.2.1", entry_point=HTTPS), head, given).added == ((b"X-A", b"1"),)


def test_the_same_edit_is_made_once() -> None:
    request, origin = question_of("http://shop.test/").request, Origin(peer="192.0.2.1", entry_point=HTTP)
    setter, given = FieldSetter(((b"A", b"1"),)), HeadEdit()
    response = ResponseHead(200, (), 0, b"")
    first = setter.edit(request, origin, response, given)
    assert setter.edit(request, origin, response, given) is first
    other = setter.edit(request, origin, response, HeadEdit(added=((b"B", b"2"),)))
    assert other.added == ((b"B", b"2"), (b"A", b"1"))
