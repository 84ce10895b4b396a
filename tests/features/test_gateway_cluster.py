"""Cases of Gateway API on a process that follows a fake API server: those that need one, or addresses of their own, and
those that restate tests of the conformance suite, which runs in a cluster.
"""

from __future__ import annotations

import pytest

from tests.features.gateway.api_stage import staged_api
from tests.features.gateway.cases import Case, all_cases
from tests.features.gateway.playing import Problems, play_all

_MEANT_FOR_OTHERS = frozenset(("shared", "udp", "no-mixed"))
"""What a case needs that is not offered here."""


def _cases() -> list[Case]:
    wanted = [each for each in all_cases() if {"api", "addresses"} & set(each.needs) or each.source.startswith("test:")]
    return [each for each in wanted if not _MEANT_FOR_OTHERS & set(each.needs)]


@pytest.fixture(scope="module")
def problems(request: pytest.FixtureRequest) -> Problems:
    """The chosen cases, all played before the first is judged, because they share a start."""
    chosen = {
        case.id
        for item in request.session.items
        if hasattr(item, "callspec") and isinstance(case := item.callspec.params.get("case"), Case)
    }
    return play_all([case for case in _cases() if case.id in chosen], staged_api)


@pytest.mark.parametrize("case", _cases(), ids=lambda case: case.id)
def test_case(case: Case, problems: Problems) -> None:
    assert problems[case.id] == []
