"""A rewritten target is what nginx would send, and always a target that a request may have."""

from __future__ import annotations

import re

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.errors import ErrorKind, Refusal
from balancer.http.messages import RequestHead
from balancer.http.target import matchable_path
from balancer.matching.regexes import compile_caseless
from balancer.matching.rewriting import (
    Rewriter,
    UnknownReference,
    compile_target,
    encoded,
)
from balancer.model.rewriting import Rewriting
from tests.messages import request_head

PEER = "192.0.2.7"
# RFC 9112 3.2.1, and of what nginx sends beside it only brackets.
ORIGIN_FORM = re.compile(rb"/(?:[A-Za-z0-9\-._~!$&'()*+,;=:@/\[\]]|%[0-9A-F]{2})*")


def asked(target: bytes) -> RequestHead:
    return msgspec.structs.replace(request_head(), target=target, raw_target=target, path=matchable_path(target))


def rewritten(target: str, expression: str, asked_for: bytes, rule: Rewriting | None = None) -> bytes | None:
    """The target that an endpoint gets for a request that matches `expression`."""
    request = asked(asked_for)
    captures = compile_caseless(expression).captures(request.path)
    assert captures is not None
    head = Rewriter(rule or Rewriting(target), expression).rewritten(request, PEER, captures)
    return head.target if head is not None else None


@pytest.mark.parametrize(
    ("target", "expression", "asked_for", "sent"),
    [
        ("/", "^/something", b"/something/new?a=b", b"/?a=b"),
        ("/new/$1", "^/foo/bar/(.+)", b"/foo/bar/bar", b"/new/bar"),
        ("/$2", "^/something(/|$)(.*)", b"/something", b"/"),
        ("/$2", "^/something(/|$)(.*)", b"/SOMETHING/New?x=1&y=%20", b"/New?x=1&y=%20"),
        ("/$1", "^/p/(.*)", b"/p/a%20b?q=%20", b"/a%20b?q=%20"),
        ("/$1", "^/p/(.*)", b"/p/c%3Fd%25e", b"/c%3Fd%25e"),
        ("/$1", "^/p/(.*)", b"/p//a//b%2Fc", b"/a/b/c"),
        ("/$1", "^/p/(.*)", b"/p/%0dX-Evil:%201%7f", b"/%0DX-Evil:%201%7F"),
        ("/$1", "^/p/(.*)", b"/p/%ff%C3%A9", b"/%FF%C3%A9"),
        ("/$1", "^/p/(.*)", b"/p/a%23", b"/a%23"),
        ("/$1", "^/(.*)", b"/%22%3c%3e%5c%5e%60%7b%7c%7d'", b"/%22%3C%3E%5C%5E%60%7B%7C%7D'"),
        ("new/$1", "^/q/(.*)", b"/q/z", b"/new/z"),
        ("/$10", "^/(.)", b"/a", b"/a0"),
        ("/x$3y", "^/(.)", b"/a", b"/xy"),
        ("/$tenant/$1", "^/(?P<tenant>[^/]+)/.*", b"/acme/x", b"/acme/acme"),
        ("/$host$uri", "^/", b"/x", b"/a/x"),
        ("/h/$request_uri", "^/", b"/x?y", b"/h//x%3Fy?y"),
        ("/$1", "^/a(.*)", b"/a/b", b"//b"),
        ("/x", "^/", b"/a?", b"/x?"),
    ],
)
def test_what_nginx_would_send(target: str, expression: str, asked_for: bytes, sent: bytes) -> None:
    assert rewritten(target, expression, asked_for) == sent


def test_an_expression_of_its_own_is_searched_and_without_it_the_target_stays() -> None:
    rule = Rewriting("/$1", expression="/a(x)|(/b)")
    assert rewritten("", "^/", b"/c/ax/b", rule) == b"/x"
    assert rewritten("", "^/", b"/c", rule) is None


def test_the_prefix_is_told_in_place_of_the_client_s_own() -> None:
    plain, telling = Rewriter(Rewriting("/"), ""), Rewriter(Rewriting("/", forwarded_prefix="/a"), "")
    assert (plain.added, plain.removed) == ((), frozenset())
    assert (telling.added, telling.removed) == (((b"X-Forwarded-Prefix", b"/a"),), frozenset((b"x-forwarded-prefix",)))


@pytest.mark.parametrize(
    ("target", "expression", "path"),
    [
        ("/v1/$1", "^/api(.*)", b"/api../admin"),
        ("/v1/$1", "^/api(.*)", b"/api.."),
        ("/v1/.$1", "^/a(.*)", b"/a."),
        ("/v1/.$1", "^/a(.*)", b"/a/x"),
    ],
)
def test_a_client_cannot_put_dot_segments_into_the_target(target: str, expression: str, path: bytes) -> None:
    request = msgspec.structs.replace(request_head(), target=path, path=path)
    captures = compile_caseless(expression).captures(path) or ()
    with pytest.raises(Refusal, match="dot segments"):
        Rewriter(Rewriting(target), expression).rewritten(request, PEER, captures)


def test_a_target_that_repeats_a_long_path_is_refused() -> None:
    rewriter, request = Rewriter(Rewriting("/" + "$1" * 100), ""), asked(b"/x")
    assert rewriter.rewritten(request, PEER, (b"a" * 100,)) is not None
    with pytest.raises(Refusal) as refused:
        rewriter.rewritten(request, PEER, (b"a" * 8000,))
    assert refused.value.kind is ErrorKind.TARGET_TOO_LONG


@pytest.mark.parametrize("target", ["/$", "/$0", "/a$/b", "/$nobody", "/$unknown_variable", "/$http_connection"])
def test_what_a_target_cannot_refer_to(target: str) -> None:
    with pytest.raises(UnknownReference, match=r"^\$"):
        compile_target(target, {"tenant": 1})


captured = st.binary(max_size=12).filter(lambda value: b"\x00" not in value)


@given(st.sampled_from(["/$1", "$1", "/a$1b", "/$1/$2", "/x"]), captured, captured)
def test_whatever_is_captured_the_target_is_valid_and_says_the_same(target: str, one: bytes, two: bytes) -> None:
    request = asked(b"/in?query=1")
    path = target.encode().replace(b"$1", one).replace(b"$2", two) if b"$" not in one else None
    try:
        head = Rewriter(Rewriting(target), "").rewritten(request, PEER, (one, two))
    except Refusal:
        return
    assert head is not None
    sent, _, query = head.target.partition(b"?")
    assert ORIGIN_FORM.fullmatch(sent)
    assert query == b"query=1"
    if path is not None and b"//" not in b"/" + path:
        assert matchable_path(sent) == (path if path.startswith(b"/") else b"/" + path)


@given(st.binary(max_size=20))
def test_a_path_is_encoded_so_that_decoding_gives_it_back(path: bytes) -> None:
    assert re.sub(rb"%(..)", lambda found: bytes([int(found[1], 16)]), encoded(path)) == path
