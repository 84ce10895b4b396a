"""Every case of Gateway API behaves as it expects, over real sockets. The cases on the list are expected to fail."""

from __future__ import annotations

import pytest

from tests.features.gateway.cases import Case, all_cases
from tests.features.gateway.pending import PENDING
from tests.features.gateway.playing import Problems, play_all

_MEANT_FOR_OTHERS = frozenset(("udp", "no-mixed"))
"""What a case needs that is not offered, or is offered."""


def _cases() -> list[Case]:
    return [each for each in all_cases() if not _MEANT_FOR_OTHERS & set(each.needs)]


@pytest.fixture(scope="module")
def problems(request: pytest.FixtureRequest) -> Problems:
    """The chosen cases, all played before the first is judged, because they share a start."""
    chosen = {
        case.id
        for item in request.session.items
        if hasattr(item, "callspec") and isinstance(case := item.callspec.params.get("case"), Case)
    }
    wanted = [case for case in _cases() if case.id in chosen]
    return play_all(wanted, excused=PENDING)


@pytest.mark.parametrize("case", _cases(), ids=lambda case: case.id)
def test_case(case: Case, problems: Problems) -> None:
    if case.id in PENDING and problems[case.id]:
        pytest.xfail(PENDING[case.id])
    assert case.id not in PENDING, f"{case.id} passes: take it off the list"
    assert problems[case.id] == []


def test_the_list_names_cases_that_there_are_in_order() -> None:
    assert PENDING.keys() <= {case.id for case in _cases()}
    assert list(PENDING) == sorted(PENDING)
