"""Every case of Gateway API behaves as it expects, over real sockets."""

from __future__ import annotations

import pytest

from tests.features.gateway.cases import Case, all_cases
from tests.features.gateway.playing import Problems, play_all

_MEANT_FOR_OTHERS = frozenset(("udp", "no-mixed", "addresses", "pending-load-balancer"))
"""What a case needs that is not offered, or is offered, or that `test_gateway_cluster` has."""


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
    return play_all([case for case in _cases() if case.id in chosen])


@pytest.mark.parametrize("case", _cases(), ids=lambda case: case.id)
def test_case(case: Case, problems: Problems) -> None:
    assert problems[case.id] == []
