"""Every case of ingress-nginx behaves as it expects. Pending cases and deliberate differences are expected to fail."""

from __future__ import annotations

import pytest

from tests.features.ingress_nginx.cases import Case, all_cases
from tests.features.ingress_nginx.differences import DIFFERENT
from tests.features.ingress_nginx.playing import Problems, play_all


@pytest.fixture(scope="module")
def problems(request: pytest.FixtureRequest) -> Problems:
    """The chosen cases, all played before the first is judged, because those that share a start share its cost."""
    chosen = {
        case.id
        for item in request.session.items
        if hasattr(item, "callspec") and isinstance(case := item.callspec.params.get("case"), Case)
    }
    return play_all([case for case in all_cases() if case.id in chosen])


@pytest.mark.parametrize("case", all_cases(), ids=lambda case: case.id)
def test_case(case: Case, problems: Problems) -> None:
    if case.id in DIFFERENT and problems[case.id]:
        pytest.xfail(DIFFERENT[case.id])
    assert case.id not in DIFFERENT, f"{case.id} passes: take it off the list of differences"
    assert problems[case.id] == []


def test_the_list_names_cases_that_there_are_in_order() -> None:
    assert DIFFERENT.keys() <= {case.id for case in all_cases()}
    assert list(DIFFERENT) == sorted(DIFFERENT)
