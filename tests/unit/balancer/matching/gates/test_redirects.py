"""Redirects without an endpoint: where they lead, and that no request leads them elsewhere."""

from __future__ import annotations

import msgspec
import pytest

from balancer.http.messages import RequestHead
from balancer.http.origin import Origin
from balancer.matching.gates.redirects import (
    AppRootGate,
    NameRedirectGate,
    TargetRedirectGate,
    without_final_slash,
)
from balancer.matching.gates.verdicts import Asked, Gate, Go, Reply, Verdict, Waiting
from balancer.model.entry_points import HTTP, HTTPS
from balancer.model.redirects import AppRoot, NameRedirect, TargetRedirect, UrlForm
from tests.questions import question_of


def asked(url: str, **changes: bytes) -> Asked:
    question = question_of(url)
    request: RequestHead = msgspec.structs.replace(question.request, **changes)
    return Asked(request, Origin(peer="", entry_point=HTTPS if question.secure else HTTP), question.secure)


def judged(gate: Gate, url: str, **changes: bytes) -> Verdict | Waiting:
    def resume(_: Verdict) -> None:
        raise AssertionError("a redirect never waits")

    return gate.judge(asked(url, **changes), resume)


def location(status: int, url: bytes) -> Reply:
    return Reply(status, ((b"Location", url),))


@pytest.mark.parametrize(
    ("url", "to"),
    [
        ("http://shop.test/", b"http://shop.test/app"),
        ("https://shop.test/?x=y", b"https://shop.test/app"),
        ("http://Shop.test:8080/", b"http://Shop.test:8080/app"),
        ("http://shop.test//", b"http://shop.test/app"),
        ("http://shop.test/a/..", b"http://shop.test/app"),
    ],
)
def test_the_root_is_redirected_with_the_host_as_it_came(url: str, to: bytes) -> None:
    assert judged(AppRootGate(AppRoot("/app")), url) == location(302, to)


@pytest.mark.parametrize("url", ["http://shop.test/app", "http://shop.test/a/", "http://shop.test/%2525"])
def test_other_paths_go_on(url: str) -> None:
    assert judged(AppRootGate(AppRoot("/app")), url) == Go()


def test_a_request_without_a_host_gets_a_path_that_names_none() -> None:
    nameless = {"host_name": b"", "authority": b""}
    assert judged(AppRootGate(AppRoot("//evil.test")), "http://a.test/", **nameless) == location(302, b"/evil.test")
    assert judged(AppRootGate(AppRoot("//evil.test")), "http://a.test/") == location(302, b"http://a.test//evil.test")


@pytest.mark.parametrize(
    ("url", "to"),
    [
        ("http://www.shop.test/", b"http://shop.test"),
        ("http://www.shop.test:8080/a/?b=c/", b"http://shop.test/a/?b=c/"),
        ("https://www.shop.test/a/", b"https://shop.test/a"),
        ("http://www.shop.test//evil.test/", b"http://shop.test//evil.test"),
    ],
)
def test_another_name_redirects_to_the_same_target(url: str, to: bytes) -> None:
    assert judged(NameRedirectGate(NameRedirect("shop.test", 307)), url) == location(307, to)


def test_the_target_of_the_whole_server_is_no_part_of_a_host() -> None:
    gate = NameRedirectGate(NameRedirect("shop.test"))
    assert judged(gate, "http://www.shop.test/", target=b"*") == location(308, b"http://shop.test")
    assert without_final_slash(b"*") == b""


@pytest.mark.parametrize(
    ("rule", "to"),
    [
        (TargetRedirect("https://new.test/?a=b", 308), b"https://new.test/?a=b"),
        (TargetRedirect("/new", 308), b"http://shop.test/new"),
        (TargetRedirect("/new", 308, UrlForm(relative=True)), b"/new"),
        (TargetRedirect("//evil.test/new", 308), b"http://shop.test//evil.test/new"),
        (TargetRedirect("new", 308), b"new"),
    ],
)
def test_every_request_is_redirected_to_the_target_alone(rule: TargetRedirect, to: bytes) -> None:
    assert judged(TargetRedirectGate(rule), "http://shop.test/x/y?q=1") == location(308, to)
