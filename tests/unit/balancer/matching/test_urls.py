"""URLs of the own host, and texts with variables: no request gets anything but its own host and path into them."""

from __future__ import annotations

import re

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.http.messages import RequestHead
from balancer.http.origin import Origin
from balancer.matching.urls import compile_url_text, own_url
from balancer.matching.variables import UnknownVariable
from balancer.model.entry_points import HTTP, HTTPS
from balancer.model.redirects import UrlForm
from tests.questions import question_of

PLAIN, SECURE = Origin(peer="192.0.2.1", entry_point=HTTP), Origin(peer="192.0.2.1", entry_point=HTTPS)
REQUEST = question_of("http://Shop.test:8080/a%20b?q=1&lang=de", ["Cookie: who=me", "X-Seen: 7"]).request


@pytest.mark.parametrize(
    ("form", "origin", "url"),
    [
        (UrlForm(), PLAIN, b"http://shop.test/new"),
        (UrlForm(), SECURE, b"https://shop.test/new"),
        (UrlForm(relative=True), PLAIN, b"/new"),
        (UrlForm(http_port=8080, https_port=8443), PLAIN, b"http://shop.test:8080/new"),
        (UrlForm(http_port=8080, https_port=8443), SECURE, b"https://shop.test:8443/new"),
        (UrlForm(http_port=80, https_port=443), PLAIN, b"http://shop.test/new"),
        (UrlForm(http_port=80, https_port=443), SECURE, b"https://shop.test/new"),
        (UrlForm(), Origin(peer="", entry_point=HTTP, port=443), b"https://shop.test/new"),
    ],
)
def test_a_path_gets_scheme_and_host_and_a_port_that_is_not_the_default(
    form: UrlForm, origin: Origin, url: bytes
) -> None:
    assert own_url(form, REQUEST, origin, b"/new") == url


def test_without_a_host_a_path_never_names_another_host() -> None:
    nameless = msgspec.structs.replace(REQUEST, host_name=b"", authority=b"")
    assert own_url(UrlForm(), nameless, PLAIN, b"//evil.test/x") == b"/evil.test/x"
    assert own_url(UrlForm(), REQUEST, PLAIN, b"//evil.test/x") == b"http://shop.test//evil.test/x"


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("http://a.test/", b"http://a.test/"),
        ("$scheme://$host/x", b"http://shop.test/x"),
        ("${scheme}://$http_host$request_uri", b"http://Shop.test:8080/a%20b?q=1&lang=de"),
        ("/$arg_lang/$cookie_who/$http_x_seen/$http_missing", b"/de/me/7/"),
        ("/$uri", b"//a%20b"),
        ("$1-$2x", b"one-twox"),
        ("", b""),
    ],
)
def test_variables_are_values_of_the_request(text: str, written: bytes) -> None:
    assert compile_url_text(text).write(REQUEST, PLAIN, (b"one", b"two")) == written


@pytest.mark.parametrize("text", ["$", "$0", "a$-", "$nothing", "${1}", "${host", "a b", "ä", "a\r\nb"])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(UnknownVariable):
        compile_url_text(text)


def test_the_highest_group_is_known() -> None:
    assert compile_url_text("/$3/$1").groups == 3
    assert compile_url_text("/a").groups == 0


@given(st.binary(max_size=30), st.binary(max_size=30))
def test_no_value_ends_a_field_or_holds_white_space(path: bytes, captured: bytes) -> None:
    request: RequestHead = msgspec.structs.replace(REQUEST, path=b"/" + path)
    written = compile_url_text("http://$host$uri/$1").write(request, PLAIN, (captured,))
    assert re.fullmatch(rb"http://shop\.test/[!-~]*", written)
