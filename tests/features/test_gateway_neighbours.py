"""Shapes beside those of the reference cases behave as the API says, over real sockets."""

from __future__ import annotations

import pytest

from tests.features.gateway.cases import Case, all_cases
from tests.features.gateway.playing import Problems, play_all

_CASES = all_cases("gateway_neighbours")


@pytest.fixture(scope="module")
def problems(request: pytest.FixtureRequest) -> Problems:
    """The chosen cases, all played before the first is judged, because they share a start."""
    chosen = {
        item.callspec.params["case"].id
        for item in request.session.items
        if hasattr(item, "callspec") and isinstance(item.callspec.params.get("case"), Case)
    }
    return play_all([case for case in _CASES if case.id in chosen])


@pytest.mark.parametrize("case", _CASES, ids=lambda case: case.id)
def test_case(case: Case, problems: Problems) -> None:
    assert problems[case.id] == []


def test_each_case_occurs_once() -> None:
    names = [case.id for case in _CASES]
    assert names == sorted(set(names))
