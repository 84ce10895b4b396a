"""Lines that do something with a request: conditions, answers, redirects and variables."""

from __future__ import annotations

import pytest

from balancer.model.scripts import AnswerWith, Comparing, Criterion, RedirectFound, RewritePath, SetVariable
from ingress.settings.snippets.lexing import Directive, SnippetProblem, read_directives
from ingress.settings.snippets.step_lines import (
    answer_of,
    check_text,
    groups_in,
    groups_of,
    rewrite_of,
    set_of,
)
from ingress.settings.snippets.step_lines import test_of as condition_of


def line(text: str) -> Directive:
    (found,) = read_directives(text)
    return found


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("($http_x)", Criterion("$http_x")),
        ("( $http_x )", Criterion("$http_x")),
        ("($http_x = a)", Criterion("$http_x", Comparing.EQUAL, "a")),
        ('($http_x != "a b")', Criterion("$http_x", Comparing.UNEQUAL, "a b")),
        ('($http_x = "")', Criterion("$http_x", Comparing.EQUAL, "")),
        ("($uri ~* ^/a)", Criterion("$uri", Comparing.FOUND_CASELESS, "^/a")),
        ('($uri !~ "(a|b)")', Criterion("$uri", Comparing.NOT_FOUND, "(a|b)")),
    ],
)
def test_conditions(condition: str, expected: Criterion) -> None:
    assert condition_of(line(f"if {condition} {{ return 403; }}")) == expected


@pytest.mark.parametrize(
    "condition", ["(-f $uri)", "$http_x", "($http_x = a b)", "($a < 1)", "(a = b)", "($uri ~ a(?=b))"]
)
def test_other_conditions_are_problems(condition: str) -> None:
    with pytest.raises(SnippetProblem):
        condition_of(line(f"if {condition} {{ return 403; }}"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("return 403;", AnswerWith(403)),
        ("return 200 ok;", AnswerWith(200, "ok")),
        ("return 301 /a;", AnswerWith(301, "/a")),
        ("return https://a.test;", AnswerWith(302, "https://a.test")),
        ("return $scheme://a.test;", AnswerWith(302, "$scheme://a.test")),
    ],
)
def test_answers(text: str, expected: AnswerWith) -> None:
    assert answer_of(line(text)) == expected


@pytest.mark.parametrize("text", ["444", "301", "304 x", "100", "600", "x", "204 text", "", "408"])
def test_statuses_that_nginx_keeps_for_itself_are_problems(text: str) -> None:
    with pytest.raises(SnippetProblem):
        answer_of(line(f"return {text};"))


def test_redirects() -> None:
    assert rewrite_of(line("rewrite ^/a$ /b permanent;")) == RedirectFound("^/a$", "/b", 301)
    assert rewrite_of(line("rewrite ^/a$ /b? redirect;")) == RedirectFound("^/a$", "/b", 302, keeps_query=False)
    assert rewrite_of(line("rewrite ^ https://a.test last;")) == RedirectFound("^", "https://a.test", 302)


def test_a_path_that_is_matched_anew() -> None:
    assert rewrite_of(line("rewrite ^/a/(.*)$ /b/$1 last;")) == RewritePath("^/a/(.*)$", "/b/$1")


@pytest.mark.parametrize(
    "text",
    [
        "^/a$ /b?c last",
        "^/a$ $1 last",
        "^/a$ /b",
        "^/a$ /b break",
        "^/a$",
        "( /b redirect",
        "(?<n>a) /b redirect",
        "a /b x",
    ],
)
def test_other_rewrites_are_problems(text: str) -> None:
    with pytest.raises(SnippetProblem):
        rewrite_of(line(f"rewrite {text};"))


def test_variables() -> None:
    assert set_of(line("set $a b$host;")) == SetVariable("a", "b$host")
    for text in (
        "set a b;",
        "set $host b;",
        "set $proxy_upstream_name b;",
        "set $http_x b;",
        "set $namespace b;",
        "set $a;",
    ):
        with pytest.raises(SnippetProblem):
            set_of(line(text))


def test_texts_name_variables_that_are_known() -> None:
    check_text(1, "$host ${a} $1", {"a"}, 1)
    for text in ("$upstream_status", "$1", "$ "):
        with pytest.raises(SnippetProblem, match="1"):
            check_text(1, text)


def test_groups_are_those_of_an_expression_that_is_found() -> None:
    assert groups_of(Criterion("$uri", Comparing.FOUND, "(a)(b)")) == 2
    assert groups_of(Criterion("$uri", Comparing.NOT_FOUND, "(a)")) == 0
    assert groups_of(Criterion("$uri")) == 0
    assert groups_in("(a)") == 1
