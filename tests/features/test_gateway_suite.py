"""What the conformance suite of Gateway API asks, test by test with objects of our own, is answered as it wants."""

from __future__ import annotations

import pytest

from ingress.translation.gateway.features import FEATURES
from tests.features.gateway.api_stage import staged_api
from tests.features.gateway.cases import Case, all_cases
from tests.features.gateway.playing import Problems, play_all
from tests.features.gateway.suite import DIFFERS, SUITE, cases_by_test, extended_features

_CASES = all_cases("gateway_suite")


@pytest.fixture(scope="module")
def problems(request: pytest.FixtureRequest) -> Problems:
    """The chosen cases, all played before the first is judged, because they share a start. As the suite's own they have
    an API server, and each Gateway its addresses.
    """
    chosen = {
        item.callspec.params["case"].id
        for item in request.session.items
        if hasattr(item, "callspec") and isinstance(item.callspec.params.get("case"), Case)
    }
    return play_all([case for case in _CASES if case.id in chosen], staged_api)


@pytest.mark.parametrize("case", _CASES, ids=lambda case: case.id)
def test_case(case: Case, problems: Problems) -> None:
    assert problems[case.id] == []


def test_each_case_occurs_once() -> None:
    names = [case.id for case in _CASES]
    assert names == sorted(set(names))


def test_every_test_of_the_suite_has_a_case() -> None:
    named = _named()
    assert len(named) == len(set(named))
    assert set(named) == set(cases_by_test())
    assert set(DIFFERS) <= set(named)


def test_every_extended_feature_that_is_claimed_is_asked_for() -> None:
    asked = {feature for name in _named() for feature in extended_features(name)}
    assert asked == {each.name for each in FEATURES} - _CORE


_CORE = {"GRPCRoute", "Gateway", "HTTPRoute", "ReferenceGrant", "TCPRoute", "TLSRoute"}


def _named() -> list[str]:
    return [name for group in SUITE.values() for name in group.split()]
