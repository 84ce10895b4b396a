"""What is read of expressions is remembered, and one namespace can neither make others wait nor push out their part."""

from __future__ import annotations

import pytest

from balancer.model.redirects import RewrittenRedirect
from balancer.model.rewriting import Rewriting
from ingress.translation.ingress.hosts.expression_reading import Readings, read_expression


def test_a_path_is_read_with_what_it_rewrites() -> None:
    read = read_expression("/api(/|$)(.*)", "/api(/|$)(.*)", Rewriting("/$2"))
    assert (read.beginning, read.expression, read.closing) == ("/api", "^/api(/|$)(.*)", "^/api")
    assert (read.rewriting, read.redirect, read.problem) == (Rewriting("/$2"), None, "")
    assert read.instructions > 0


def test_a_target_with_a_scheme_is_a_redirect() -> None:
    read = read_expression("/old/(.*)", "/old/(.*)", Rewriting("https://new.test/$1"))
    assert (read.rewriting, read.redirect) == (None, RewrittenRedirect("https://new.test/$1", "^/old/(.*)"))


@pytest.mark.parametrize(
    ("path", "rewriting", "problem"),
    [
        ("/a(", None, "missing )"),
        ("/a[", None, "a character class has no end"),
        ("/(.*)", Rewriting("https://$1"), "a request could choose the host"),
        ("/(.*)", Rewriting("/$unknown"), "unknown"),
    ],
)
def test_what_cannot_be_carried_out_says_why_and_how_it_is_closed(
    path: str, rewriting: Rewriting | None, problem: str
) -> None:
    read = read_expression(path, path, rewriting)
    assert problem in read.problem
    assert read.closing.startswith("^/")


def test_what_is_read_is_remembered_by_namespace() -> None:
    readings = Readings()
    first = readings.of("shop", "/a.*", "/a.*", None)
    assert readings.of("shop", "/a.*", "/a.*", None) is first
    assert readings.of("tea", "/a.*", "/a.*", None) is not first
    assert readings.of("shop", "/a.*", "/a.*/", None) is not first
    assert readings.refused("shop", "/a.*", "too long").problem == "too long"


def test_a_namespace_with_many_expressions_pushes_out_its_own() -> None:
    readings = Readings(remembered_bytes=64 * 1024)
    modest = readings.of("tea", "/cup/.*", "/cup/.*", None)
    greedy = [readings.of("shop", f"/{number}/.*", f"/{number}/.*", None) for number in range(200)]
    assert readings.of("tea", "/cup/.*", "/cup/.*", None) is modest
    assert readings.of("shop", "/0/.*", "/0/.*", None) is not greedy[0]
    assert readings.of("shop", "/199/.*", "/199/.*", None) is greedy[199]
