"""Questions about requests: what a client would send, and nothing that it could not."""

from __future__ import annotations

import pytest

from balancer.explain.asking import BadQuestion
from tests.questions import question_of


@pytest.mark.parametrize(
    ("url", "host", "path", "target"),
    [
        ("http://shop.test", b"shop.test", b"/", b"/"),
        ("http://Shop.Test:8080/cart", b"shop.test", b"/cart", b"/cart"),
        ("http://shop.test?x=1", b"shop.test", b"/", b"/?x=1"),
        ("http://shop.test/a/../b//c?x#y", b"shop.test", b"/b/c", b"/a/../b//c?x"),
        ("HTTP://[::1]:80/", b"[::1]", b"/", b"/"),
        ("http://shop.test/ü ?q=ü", b"shop.test", "/ü ".encode(), b"/%C3%BC%20?q=%C3%BC"),
        ("http://shop.test/%41", b"shop.test", b"/A", b"/%41"),
    ],
)
def test_a_url_becomes_the_head_of_a_request(url: str, host: bytes, path: bytes, target: bytes) -> None:
    request = question_of(url).request
    assert (request.method, request.host_name, request.path, request.raw_target) == (b"GET", host, path, target)


def test_the_scheme_says_whether_it_comes_over_tls() -> None:
    assert not question_of("http://shop.test/").secure
    assert question_of("https://shop.test/").secure


def test_fields_are_sent_and_a_host_among_them_counts() -> None:
    request = question_of("http://127.0.0.1:8080/", ["X-Try:  always ", "host: shop.test", "Cookie: a=b; c=d"]).request
    assert request.host_name == b"shop.test"
    assert request.fields == ((b"x-try", b"always"), (b"cookie", b"a=b; c=d"))


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("", "give a URL"),
        ("shop.test/cart", "give a URL"),
        ("ftp://shop.test/", "give a URL"),
        ("http:///cart", "give a URL"),
        ("http://shop test/", "Host"),
        ("http://user@shop.test/", "Host"),
        ("http://shöp.test/", "Host"),
        ("http://shop.test\r\nX-Forged: yes/", "name:value"),
        ("http://shop.test/../..", "above the root"),
        ("http://shop.test/%zz", "escape"),
        ("http://shop.test/\udcff", "UTF-8"),
    ],
)
def test_what_is_no_url_of_a_request_is_refused(url: str, words: str) -> None:
    with pytest.raises(BadQuestion, match=words) as refused:
        question_of(url)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("field", ["X-Try", "", ": x", "X Try: x", "X-Try: a\r\nX-Forged: b", "X-Try: \x00", "X: €"])
def test_what_is_no_header_field_is_refused(field: str) -> None:
    with pytest.raises(BadQuestion, match="name:value"):
        question_of("http://shop.test/", [field])


def test_two_hosts_are_refused_as_they_are_of_a_client() -> None:
    with pytest.raises(BadQuestion, match="Host"):
        question_of("http://shop.test/", ["Host: a.test", "Host: b.test"])


@pytest.mark.parametrize("client", ["nobody", "203.0.113", "203.0.113.7:80", " 203.0.113.7", "x" * 1000 + "\n"])
def test_what_is_no_address_of_a_client_is_refused(client: str) -> None:
    with pytest.raises(BadQuestion, match="give the client as an IP address") as refused:
        question_of("http://shop.test/", client=client)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 200


@pytest.mark.parametrize("client", ["", "203.0.113.7", "2001:db8::7"])
def test_a_client_is_an_address_or_unknown(client: str) -> None:
    assert question_of("http://shop.test/", client=client).client == client


@pytest.mark.parametrize(
    ("url", "port"),
    [
        ("http://shop.test/", 80),
        ("https://shop.test/", 443),
        ("http://shop.test:8080/a:1", 8080),
        ("https://[2001:db8::1]/", 443),
        ("https://[2001:db8::1]:8443/", 8443),
    ],
)
def test_the_port_is_that_of_the_url_or_of_its_scheme(url: str, port: int) -> None:
    assert question_of(url).port == port
