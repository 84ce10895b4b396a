"""Redirects with a part of the path in their URL: what nginx sends, and nothing that a client could break out of."""

from __future__ import annotations

import pytest

from balancer.errors import ErrorKind
from balancer.http.origin import Origin
from balancer.matching.gates.path_redirects import RewrittenRedirectGate, SlashRedirectGate
from balancer.matching.gates.verdicts import Asked, Deny, Gate, Go, Reply, Verdict, Waiting
from balancer.model.entry_points import HTTP, HTTPS
from balancer.model.redirects import RewrittenRedirect, SlashRedirect, UrlForm
from tests.questions import question_of


def judged(gate: Gate, url: str) -> Verdict | Waiting:
    def resume(_: Verdict) -> None:
        raise AssertionError("a redirect never waits")

    question = question_of(url)
    return gate.judge(
        Asked(question.request, Origin(peer="", entry_point=HTTPS if question.secure else HTTP), question.secure),
        resume,
    )


@pytest.mark.parametrize(
    ("target", "url", "to"),
    [
        ("https://other.test/$1", "http://shop.test/old/a/b", b"https://other.test/a/b"),
        ("https://other.test/$1", "http://shop.test/OLD/A?x=1", b"https://other.test/A?x=1"),
        ("https://other.test/$1", "http://shop.test/old/a?", b"https://other.test/a"),
        ("https://other.test/$1", "http://shop.test/old/a%20b%3Fc%0d", b"https://other.test/a%20b%3Fc%0D"),
        ("$scheme://$host/new/$1", "https://shop.test/old/x", b"https://shop.test/new/x"),
        ("$scheme://$host/new/$1", "http://shop.test/old/x", b"http://shop.test/new/x"),
    ],
)
def test_a_rewritten_url_is_a_redirect(target: str, url: str, to: bytes) -> None:
    gate = RewrittenRedirectGate(RewrittenRedirect(target, "^/old/(.*)"))
    assert judged(gate, url) == Reply(302, ((b"Location", to),))


def test_a_url_that_repeats_a_long_path_is_refused() -> None:
    gate = RewrittenRedirectGate(RewrittenRedirect("https://other.test/" + "$1" * 100, "^/(.*)"))
    assert judged(gate, "http://shop.test/" + "a" * 1000) == Deny(ErrorKind.TARGET_TOO_LONG)


def test_a_path_in_which_the_expression_is_not_found_goes_on() -> None:
    gate = RewrittenRedirectGate(RewrittenRedirect("https://other.test/", "^/foo/"))
    assert judged(gate, "http://shop.test/foo") == Go()


@pytest.mark.parametrize(
    ("form", "url", "to"),
    [
        (UrlForm(), "http://shop.test/my-path", b"http://shop.test/my-path/"),
        (UrlForm(), "http://shop.test/my-path?x=1&y=2", b"http://shop.test/my-path/?x=1&y=2"),
        (UrlForm(), "https://shop.test:8443//my-path", b"https://shop.test/my-path/"),
        (UrlForm(), "http://shop.test/my%0dpath", b"http://shop.test/my%0Dpath/"),
        (UrlForm(relative=True), "http://shop.test/my-path?x", b"/my-path/?x"),
    ],
)
def test_a_slash_is_added_and_the_query_kept(form: UrlForm, url: str, to: bytes) -> None:
    assert judged(SlashRedirectGate(SlashRedirect(form)), url) == Reply(301, ((b"Location", to),))
