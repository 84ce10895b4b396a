"""Shapes beside those of the reference cases behave as the API says, over real sockets."""

from __future__ import annotations

import pytest

from tests.features.gateway.api_stage import staged_api
from tests.features.gateway.cases import Case, all_cases
from tests.features.gateway.playing import Problems, play_all

_CASES = all_cases("gateway_neighbours")


@pytest.fixture(scope="module")
def problems(request: pytest.FixtureRequest) -> Problems:
    """The chosen cases, all played before the first is judged, because they share two starts."""
    chosen = {
        item.callspec.params["case"].id
        for item in request.session.items
        if hasattr(item, "callspec") and isinstance(item.callspec.params.get("case"), Case)
    }
    cases = [case for case in _CASES if case.id in chosen]
    with_server = [case for case in cases if "api" in case.needs]
    from_folder = [case for case in cases if "api" not in case.needs]
    return {**play_all(from_folder), **play_all(with_server, staged_api)}


@pytest.mark.parametrize("case", _CASES, ids=lambda case: case.id)
def test_case(case: Case, problems: Problems) -> None:
    assert problems[case.id] == []


def test_each_case_occurs_once() -> None:
    names = [case.id for case in _CASES]
    assert names == sorted(set(names))
