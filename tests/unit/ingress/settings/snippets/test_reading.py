"""A snippet is carried out as a whole or not at all, where nginx would take its lines."""

from __future__ import annotations

import pytest

from balancer.model.scripts import AnswerWith, Criterion, FieldBeside, FieldChange
from ingress.settings.snippets.levels import AccessEntry, Fields, Level, LevelCondition, SnippetPlace
from ingress.settings.snippets.lexing import SnippetProblem
from ingress.settings.snippets.reading import read_level


def test_everything_that_a_location_says() -> None:
    text = """
        add_header X-A 1;
        allow 10.1.2.3/8; deny all;
        proxy_set_header X-R $host;
        if ($host) { more_set_headers "X-B: 2"; return 403; }
    """
    assert read_level(text, SnippetPlace.LOCATION) == Level(
        fields=Fields(beside=(FieldBeside("X-A", "1"),)),
        access=(AccessEntry(True, ("10.0.0.0/8",)), AccessEntry(False, ("0.0.0.0/0", "::/0"))),
        request_fields=(("X-R", "$host"),),
        steps=(LevelCondition(Criterion("$host"), (AnswerWith(403),), Fields(changes=(FieldChange("X-B", "2"),))),),
    )


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("return 403;", SnippetPlace.HTTP),
        ("if ($host) { add_header X-A 1; }", SnippetPlace.SERVER),
        ("if ($host) { deny all; }", SnippetPlace.LOCATION),
        ("if ($host) { if ($uri) { return 403; } }", SnippetPlace.LOCATION),
        ("deny 1.2.3;", SnippetPlace.LOCATION),
        ("deny unix:;", SnippetPlace.LOCATION),
        ("expires 1h; expires 2h;", SnippetPlace.LOCATION),
        ("add_header X-A 1 { }", SnippetPlace.LOCATION),
        ("if ($host);", SnippetPlace.LOCATION),
        ("return 200 $1;", SnippetPlace.LOCATION),
        ("set $a 1; add_header X-A $b;", SnippetPlace.LOCATION),
        ("if ($uri ~ (a)) { rewrite (b) /$1 redirect; return 302 /$1; }", SnippetPlace.LOCATION),
        ("add_header X-A 1;" * 101, SnippetPlace.LOCATION),
    ],
)
def test_one_line_that_is_not_carried_out_is_a_problem_of_all(text: str, place: SnippetPlace) -> None:
    assert isinstance(read_level(text, place), SnippetProblem)


def test_a_line_that_nginx_would_not_inherit_is_said_to_be_useless() -> None:
    level = read_level("proxy_set_header X-A 1;", SnippetPlace.SERVER)
    assert isinstance(level, Level)
    assert level.is_empty
    assert level.useless == ("line 1: proxy_set_header has no effect here, in nginx neither",)


def test_further_lines_that_are_not_carried_out_are_named_beside_the_first() -> None:
    found = read_level(
        "add_header X-A 1;\nlocation /a { }\nproxy_pass x;\nif ($host) {\n  break;\n}", SnippetPlace.SERVER
    )
    assert isinstance(found, SnippetProblem)
    assert found.text == "line 2: location is not carried out (nor are lines 3, 5)"
    assert found.instead == "give the path an Ingress of its own, with annotations"
