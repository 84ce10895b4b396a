"""Location, Refresh and Set-Cookie of endpoints are rewritten as nginx does, and nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.http.edits import HeadEdit, ResponseEditor
from balancer.http.messages import Fields, ResponseHead
from balancer.http.origin import Origin
from balancer.matching.relocating import CookieEditor, LocationEditor
from balancer.model.entry_points import HTTP
from balancer.model.redirects import UrlForm
from balancer.model.relocation import RewriteCookies, RewriteLocation
from tests.questions import question_of

REQUEST = question_of("http://shop.test/").request
PEER = Origin(peer="192.0.2.1", entry_point=HTTP)


def edited(editor: ResponseEditor, *fields: tuple[bytes, bytes], given: HeadEdit | None = None) -> Fields:
    """The fields that the client gets of `fields`, and those of `given`."""
    edit = editor.edit(REQUEST, PEER, ResponseHead(302, fields, 0, b""), given or HeadEdit())
    return (*(field for field in fields if field[0] not in edit.removed), *edit.added)


def located(pattern: str, replacement: str, location: bytes, form: UrlForm | None = None) -> bytes:
    editor = LocationEditor(RewriteLocation(pattern, replacement, form or UrlForm()))
    ((_, value),) = edited(editor, (b"location", location))
    return value


def cookie(rule: RewriteCookies, text: bytes) -> bytes:
    ((_, value),) = edited(CookieEditor(rule), (b"set-cookie", text))
    return value


@pytest.mark.parametrize(
    ("pattern", "replacement", "location", "written"),
    [
        ("http://hello.test/", "https://bye.test/", b"http://hello.test/a?b", b"https://bye.test/a?b"),
        ("http://hello.test/", "https://bye.test/", b"http://other.test/", b"http://other.test/"),
        ("http://hello.test/", "https://bye.test/", b"HTTP://hello.test/a", b"HTTP://hello.test/a"),
        ("http://hello.test/", "/in/", b"http://hello.test/a", b"http://shop.test/in/a"),
        ("http://$host/", "$scheme://front.test/", b"http://shop.test/a", b"http://front.test/a"),
        ("$http_missing", "https://bye.test/", b"/a", b"/a"),
        ("/a", "/b", b"/a/c", b"http://shop.test/b/c"),
        ("/a", "/b", b"/c", b"/c"),
        ("~^http://([^.]+)[.]hello[.]test/(.*)$", "/$1/$2", b"http://x.hello.test/a", b"http://shop.test/x/a"),
        ("~^HTTP://", "https://bye.test/", b"http://hello.test/a", b"http://hello.test/a"),
        ("~*^HTTP://", "https://bye.test/", b"http://hello.test/a", b"https://bye.test/"),
    ],
)
def test_the_beginning_of_a_location_is_replaced(
    pattern: str, replacement: str, location: bytes, written: bytes
) -> None:
    assert located(pattern, replacement, location) == written


@pytest.mark.parametrize(("size", "is_rewritten"), [(100, True), (5000, False)])
def test_fields_that_would_cost_much_to_search_pass_as_they_are(size: int, is_rewritten: bool) -> None:
    value = b"http://a.test/" + b"a" * size
    assert (located("~^http://(.*)a.{60}", "https://bye.test/", value) != value) == is_rewritten
    rule = RewriteCookies(path=("~(.*)a.{60}", "/x"))
    text = b"a=b; Path=/" + b"a" * size
    assert (cookie(rule, text) != text) == is_rewritten


def test_a_path_that_comes_out_has_the_form_that_is_set() -> None:
    assert located("http://hello.test", "", b"http://hello.test//evil.test") == b"http://shop.test//evil.test"
    assert located("/a", "/b", b"/a", UrlForm(relative=True)) == b"/b"


@pytest.mark.parametrize(
    ("refresh", "written"),
    [
        (b"5; url=http://hello.test/a", b"5; url=/in/a"),
        (b"5; URL=http://hello.test/a", b"5; URL=/in/a"),
        (b"5", b"5"),
        (b"5; url=/a", b"5; url=/a"),
    ],
)
def test_the_url_in_refresh_is_replaced(refresh: bytes, written: bytes) -> None:
    ((_, value),) = edited(LocationEditor(RewriteLocation("http://hello.test/", "/in/")), (b"refresh", refresh))
    assert value == written


def test_the_own_fields_of_the_proxy_are_left_alone() -> None:
    own = HeadEdit(added=((b"Location", b"http://hello.test/"), (b"Set-Cookie", b"a=1; Path=/one")))
    location = LocationEditor(RewriteLocation("http://hello.test/", "/in/"))
    assert edited(location, given=own) == own.added
    cookies = CookieEditor(RewriteCookies(path=("/one", "/two")))
    assert edited(cookies, given=own) == own.added
    both = edited(cookies, (b"set-cookie", b"b=2; Path=/one"), given=own)
    assert both == ((b"Set-Cookie", b"b=2; Path=/two"), *own.added)


@pytest.mark.parametrize(
    ("rule", "text", "written"),
    [
        (RewriteCookies(path=("/one/", "/")), b"a=1; Path=/one/x; HttpOnly", b"a=1; Path=/x; HttpOnly"),
        (RewriteCookies(path=("/one/", "/")), b"a=1;path=/one/x;Secure", b"a=1; path=/x; Secure"),
        (RewriteCookies(path=("/one/", "/")), b"a=1;Path=/One/x", b"a=1;Path=/One/x"),
        (RewriteCookies(path=("/one/", "/")), b"path=/one/x", b"path=/one/x"),
        (RewriteCookies(domain=("localhost", "a.test")), b"a=1; Domain=LOCALHOST", b"a=1; Domain=a.test"),
        (RewriteCookies(domain=(".localhost", ".a.test")), b"a=1; Domain=.localhost", b"a=1; Domain=.a.test"),
        (RewriteCookies(domain=("localhost", "a.test")), b"a=1; Domain=x.localhost", b"a=1; Domain=x.localhost"),
        (RewriteCookies(domain=("localhost", "$host")), b"a=1; Domain = localhost", b"a=1; Domain=shop.test"),
        (
            RewriteCookies(domain=(r"~\.?(local)host$", "$1.test")),
            b"a=1; Domain=x.LocalHost",
            b"a=1; Domain=Local.test",
        ),
        (RewriteCookies(path=("~/one/(.*)", "/two/$1")), b"a=1; Path=/x/one/y", b"a=1; Path=/two/y"),
        (RewriteCookies(domain=("localhost", "a.test")), b"a=1; Domain", b"a=1; Domain"),
        (RewriteCookies(domain=("localhost", "a.test")), b"a; Domain=localhost", b"a; Domain=localhost"),
    ],
)
def test_attributes_of_cookies_are_replaced(rule: RewriteCookies, text: bytes, written: bytes) -> None:
    assert cookie(rule, text) == written


def test_every_cookie_is_rewritten_and_they_keep_their_order() -> None:
    editor = CookieEditor(RewriteCookies(path=("/a", "/b")))
    fields = (b"set-cookie", b"a=1; Path=/a"), (b"set-cookie", b"b=2"), (b"x-more", b"1")
    assert edited(editor, *fields) == (
        (b"x-more", b"1"),
        (b"Set-Cookie", b"a=1; Path=/b"),
        (b"Set-Cookie", b"b=2"),
    )


@pytest.mark.parametrize("name", [b"location", b"refresh", b"set-cookie"])
def test_a_field_that_is_hidden_stays_hidden(name: bytes) -> None:
    hidden = HeadEdit(removed=frozenset({name}))
    for editor in (LocationEditor(RewriteLocation("/a", "/b")), CookieEditor(RewriteCookies(path=("/a", "/b")))):
        assert edited(editor, (name, b"/a; url=/a; path=/a"), given=hidden) == ()


def test_what_is_longer_than_anything_in_use_is_left_alone() -> None:
    long = b"a=" + b"b" * 9000 + b"; Path=/a"
    assert cookie(RewriteCookies(path=("/a", "/b")), long) == long
    assert located("/", "/b", b"/" + b"a" * 9000) == b"/" + b"a" * 9000
    many = b"a=1; Path=/a" + b"; x" * 100
    assert cookie(RewriteCookies(path=("/a", "/b")), many) == many


@given(st.binary(max_size=60))
def test_whatever_an_endpoint_sends_stays_one_field(value: bytes) -> None:
    value = value.replace(b"\r", b"").replace(b"\n", b"").replace(b"\x00", b"").strip(b" \t")
    both = RewriteCookies(domain=("a.test", "b.test"), path=("/", "/b"))
    assert not {*cookie(both, value)} & {*b"\r\n\x00"}
    assert not {*located("/", "/b", value)} & {*b"\r\n\x00"}
