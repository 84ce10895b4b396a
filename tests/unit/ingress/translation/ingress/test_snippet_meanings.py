"""What snippets mean for a path: fixed fields are edits, all else is a script."""

from __future__ import annotations

import pytest

from balancer.errors import ErrorKind
from balancer.model.edits import CorsFields
from balancer.model.external_auth import ExternalAuth
from balancer.model.gates import GateRule, SourceRanges
from balancer.model.redirects import SlashRedirect, TargetRedirect
from balancer.model.routes import Branch, Owner, PathKind, ServiceName
from balancer.model.scripts import (
    AnswerWith,
    Conditional,
    Criterion,
    Expiry,
    FieldBeside,
    FieldChange,
    HostScript,
    OrderedEdits,
    Script,
)
from ingress.settings.snippets.levels import Fields, Level, LevelCondition, SnippetPlace
from ingress.settings.snippets.reading import read_level
from ingress.translation.claims import BranchClaim, StandInClaim
from ingress.translation.ingress.hosts.settled import PlaceClaim
from ingress.translation.ingress.snippet_meanings import CannotPlace, Levels, Meaning, meaning_of

NONE = Levels(Level(), Level(), Level())
OWNER = Owner("Ingress", "shop", "web")
BRANCH = BranchClaim(Branch(None, OWNER, ServiceName("shop", "web"), error=ErrorKind.NO_BACKEND), None)


def level(text: str, place: SnippetPlace = SnippetPlace.LOCATION) -> Level:
    found = read_level(text, place)
    assert isinstance(found, Level)
    return found


def claim(text: str = "", *gates: GateRule, **more: object) -> PlaceClaim:
    return PlaceClaim(OWNER, "a.test", "/", PathKind.PREFIX, (BRANCH,), gates=gates, snippet=level(text), **more)  # type: ignore[arg-type]


def test_fixed_fields_are_edits_of_responses() -> None:
    edits = OrderedEdits(changes=(FieldChange("X-A", "1"),))
    assert meaning_of(claim("more_set_headers 'X-A: 1';"), NONE) == Meaning((), (edits,))
    assert meaning_of(claim(), NONE) == Meaning()


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ("add_header X-A $host;", Script(edits=OrderedEdits(beside=(FieldBeside("X-A", "$host"),)))),
        ("expires 1h;", Script(edits=OrderedEdits(expiry=Expiry(3600)))),
        ("proxy_set_header X-A 1;", Script(request_fields=(("X-A", "1"),))),
        ("return 403;", Script((AnswerWith(403),))),
    ],
)
def test_what_depends_on_the_request_is_a_script(text: str, script: Script) -> None:
    assert meaning_of(claim(text), NONE) == Meaning((script,))


def test_the_last_condition_that_holds_gives_the_fields_if_any_condition_says_some() -> None:
    (script,) = meaning_of(claim("add_header X-A 1; if ($host) { set $a 1; }"), NONE).gates
    assert isinstance(script, Script) and isinstance(script.steps[0], Conditional)
    assert script.steps[0].edits is None
    text = "more_set_headers 'X-A: 1'; if ($host) { add_header X-B 1; } if ($uri) { set $a 1; }"
    (script,) = meaning_of(claim(text), NONE).gates
    assert isinstance(script, Script)
    change = FieldChange("X-A", "1")
    assert [step.edits for step in script.steps if isinstance(step, Conditional)] == [
        OrderedEdits(changes=(change,), beside=(FieldBeside("X-B", "1"),)),
        OrderedEdits(changes=(change,)),
    ]


def test_steps_of_the_host_come_apart_with_the_fields_of_the_host() -> None:
    server = Level(
        Fields(changes=(FieldChange("X-A", "1"),)), steps=(LevelCondition(Criterion("$host"), (AnswerWith(403),)),)
    )
    edits = OrderedEdits(changes=(FieldChange("X-A", "1"),))
    script = HostScript((Conditional(Criterion("$host"), (AnswerWith(403),)),), edits)
    levels = Levels(Level(), server, Level())
    assert meaning_of(claim(), levels) == Meaning((script,), (edits,))
    assert meaning_of(claim("", SlashRedirect()), levels) == Meaning((script,))


def test_lines_of_access_at_the_location_replace_those_of_the_host() -> None:
    levels = Levels(Level(), level("deny 10.0.0.1;", SnippetPlace.SERVER), Level())
    assert meaning_of(claim(), levels).gates == (SourceRanges(denied=("10.0.0.1/32",)),)
    assert meaning_of(claim("deny 10.0.0.2;"), levels).gates == (SourceRanges(denied=("10.0.0.2/32",)),)
    assert meaning_of(claim("", SourceRanges(allowed=("::1/128",))), levels).gates == ()


def test_a_location_that_asks_an_auth_service_inherits_no_added_fields() -> None:
    levels = Levels(Level(), level("add_header X-A 1; more_set_headers 'X-B: 1';", SnippetPlace.SERVER), Level())
    auth = ExternalAuth("http://auth.test/")
    assert meaning_of(claim("", auth), levels).response_rules == (OrderedEdits(changes=(FieldChange("X-B", "1"),)),)


@pytest.mark.parametrize(
    ("made", "levels"),
    [
        (claim("deny all;", SourceRanges(allowed=("::1/128",))), NONE),
        (claim("deny all;", is_enough_any=True), NONE),
        (claim("return 403;", TargetRedirect("https://a.test")), NONE),
        (claim("if ($host) { return 403; }", response_rules=(CorsFields(("*",)),)), NONE),
        (claim("add_header Access-Control-Max-Age 1;", response_rules=(CorsFields(("*",)),)), NONE),
        (claim("proxy_hide_header X-A;", hides_fields=True), NONE),
        (claim("return 404;", stand_in=StandInClaim(statuses=(404,))), NONE),
        (claim("proxy_set_header X-A 1;", ExternalAuth("http://auth.test/", response_fields=("X-A",))), NONE),
        (claim(), Levels(Level(), level("return 403;", SnippetPlace.SERVER), Level(), redirects_root=True)),
        (claim("set $a 0; if ($a) { return 403; }"), Levels(Level(), level("set $a 1;", SnippetPlace.SERVER), Level())),
    ],
)
def test_what_nginx_would_mix_in_an_unknown_way_does_not_fit(made: PlaceClaim, levels: Levels) -> None:
    with pytest.raises(CannotPlace):
        meaning_of(made, levels)
