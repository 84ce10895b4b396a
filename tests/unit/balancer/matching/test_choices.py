"""Which of the routes of one place serves: methods, header fields and query parameters, as Gateway API reads them."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.matching.choices import Candidate, RequestFacts, RouteChoice
from balancer.matching.gates.making import make_gate
from balancer.matching.regexes import PatternError
from balancer.matching.served import Match, Served
from balancer.model.conditions import ANY, Conditions, ValueCondition
from tests import builders as build
from tests.questions import question_of


def candidate(name: str, conditions: Conditions = ANY) -> Candidate:
    return Candidate(conditions, Match(Served(build.route(f"/{name}"), make_gate)))


def chosen(choice: RouteChoice, *fields: str, target: str = "/", method: str = "GET") -> str | None:
    request = msgspec.structs.replace(question_of(f"http://a.test{target}", fields).request, method=method.encode())
    match = choice.match(RequestFacts(request))
    return None if match is None else match.served.route.path.removeprefix("/")


def by_field(name: str, value: str, **more: bool) -> Conditions:
    return Conditions(fields=(ValueCondition(name, value, **more),))


def by_query(name: str, value: str, **more: bool) -> Conditions:
    return Conditions(query=(ValueCondition(name, value, **more),))


def test_the_first_one_serves_whose_conditions_all_hold() -> None:
    both = Conditions("POST", (ValueCondition("version", "two"),), (ValueCondition("a", "1"),))
    choice = RouteChoice([candidate("both", both), candidate("post", Conditions("POST")), candidate("rest")])
    assert chosen(choice, "Version: two", target="/?a=1", method="POST") == "both"
    assert chosen(choice, "Version: two", target="/?a=2", method="POST") == "post"
    assert chosen(choice, "Version: one", target="/?a=1", method="POST") == "post"
    assert chosen(choice, "Version: two", target="/?a=1") == "rest"


def test_without_a_candidate_left_nothing_serves() -> None:
    choice = RouteChoice([candidate("one", by_field("version", "one"))])
    assert chosen(choice) is None
    assert choice.match(None) is None
    assert choice.only is None


def test_a_first_candidate_without_conditions_serves_everything() -> None:
    choice = RouteChoice([candidate("all"), candidate("one", by_field("version", "one"))])
    assert choice.only is not None and choice.match(None) is choice.only
    assert chosen(choice, "Version: one") == "all"


@pytest.mark.parametrize(
    ("fields", "served"),
    [
        (["Version: one"], "one"),
        (["version: one"], "one"),
        (["version: One"], None),
        (["x_version: one"], None),
        (["version: one", "version: two"], None),
        (["version: a", "version: b"], "joined"),
        (["org: acme"], "expression"),
        (["org: an acme of " + "x" * 1024], None),
    ],
)
def test_fields_are_compared_by_name_without_case_and_by_value(fields: list[str], served: str | None) -> None:
    choice = RouteChoice(
        [
            candidate("one", by_field("version", "one")),
            candidate("joined", by_field("version", "a, b")),
            candidate("expression", by_field("org", "^a.*e$", is_expression=True)),
        ]
    )
    assert chosen(choice, *fields) == served


def test_a_condition_on_the_host_reads_the_authority() -> None:
    choice = RouteChoice([candidate("host", by_field("host", "a.test"))])
    assert chosen(choice) == "host"


@pytest.mark.parametrize(
    ("query", "served"),
    [
        ("?Animal=x", "named"),
        ("?animal=x", None),
        ("?a=1&a=2", "one"),
        ("?a=2&a=1", None),
        ("?b=blue%20whale", "decoded"),
        ("?b=blue+whale", "decoded"),
        ("?%62=blue%20whale", "decoded"),
        ("?b=blue%2520whale", None),
        ("?a", None),
        ("?a=", None),
        ("?=1", None),
        ("?&&a=1", "one"),
        ("?c;a=1", None),
        ("?c=%zz&a=1", "one"),
        ("?d=%zz", "broken"),
        ("?e=12", "expression"),
        ("", None),
    ],
)
def test_query_parameters_are_decoded_once_and_the_first_value_counts(query: str, served: str | None) -> None:
    choice = RouteChoice(
        [
            candidate("named", by_query("Animal", "x")),
            candidate("one", by_query("a", "1")),
            candidate("decoded", by_query("b", "blue whale")),
            candidate("broken", by_query("d", "%zz")),
            candidate("expression", by_query("e", "^[0-9]+$", is_expression=True)),
        ]
    )
    assert chosen(choice, target=f"/{query}") == served


def test_an_expression_that_cannot_be_compiled_is_refused() -> None:
    with pytest.raises(PatternError):
        candidate("bad", by_field("a", "(", is_expression=True))


def test_searches_for_all_conditions_of_a_place_are_counted_together() -> None:
    """16 rules with 64 matches are one route, and a client decides how long the value is."""
    fields = [by_field("x-try", f"(a|b)*a(a|b){{100}}{number}", is_expression=True) for number in range(50)]
    queries = [by_query("x", f"(a|b)*a(a|b){{100}}{number}", is_expression=True) for number in range(50)]
    for many, ending in (
        (fields, by_field("x-try", "b$", is_expression=True)),
        (queries, by_query("x", "b$", is_expression=True)),
    ):
        choice = RouteChoice(
            [*(candidate("none", each) for each in many), candidate("found", ending), candidate("rest")]
        )
        assert chosen(choice, "X-Try: " + "ab" * 10, target="/?x=" + "ab" * 10) == "found"
        assert chosen(choice, "X-Try: " + "ab" * 400, target="/?x=" + "ab" * 400) == "rest"


_VALUES = st.dictionaries(st.sampled_from(["a", "b"]), st.sampled_from(["1", "2"]), max_size=2)


@given(st.lists(st.tuples(_VALUES, _VALUES, st.sampled_from(["", "POST"])), min_size=1, max_size=6), _VALUES, _VALUES)
def test_a_table_of_values_agrees_with_asking_one_candidate_after_the_other(
    asked: list[tuple[dict[str, str], dict[str, str], str]], fields: dict[str, str], query: dict[str, str]
) -> None:
    candidates = [
        candidate(
            str(place),
            Conditions(
                method,
                tuple(ValueCondition(*each) for each in wanted.items()),
                tuple(ValueCondition(*each) for each in parameters.items()),
            ),
        )
        for place, (wanted, parameters, method) in enumerate(asked)
    ]
    holding = [
        str(place)
        for place, (wanted, parameters, method) in enumerate(asked)
        if wanted.items() <= fields.items() and parameters.items() <= query.items() and method in {"", "GET"}
    ]
    target = "/?" + "&".join(f"{name}={value}" for name, value in query.items())
    shown = [f"{name}: {value}" for name, value in fields.items()]
    assert chosen(RouteChoice(candidates), *shown, target=target) == next(iter(holding), None)


def test_values_of_the_same_names_are_one_look_up_and_the_first_of_equal_ones_serves() -> None:
    both = Conditions(fields=(ValueCondition("a", "1"), ValueCondition("b", "2")))
    turned = Conditions(fields=(ValueCondition("b", "2"), ValueCondition("a", "1")))
    choice = RouteChoice([candidate("first", both), candidate("second", turned), candidate("rest")])
    assert chosen(choice, "A: 1", "B: 2") == "first"
    assert chosen(choice, "A: 1") == "rest"
    assert chosen(choice, "A: 1", "B: 2", "B: 2") == "rest"


def test_candidates_behind_one_without_conditions_are_as_if_they_were_not() -> None:
    choice = RouteChoice(
        [candidate("one", by_query("a", "1")), candidate("rest"), candidate("two", by_field("b", "2"))]
    )
    assert chosen(choice, "B: 2", target="/?a=1") == "one"
    assert chosen(choice, "B: 2") == "rest"
    assert choice.match(None) is not None
