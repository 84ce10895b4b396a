"""One reason is told, and which one does not depend on who asks."""

from __future__ import annotations

from itertools import pairwise

import pytest

from balancer.zones.precedence import foremost
from balancer.zones.reasons import Reason

ORDER = (
    Reason.RETRY_OTHER_ZONE,
    Reason.AFFINITY_OVERRIDE,
    Reason.TERMINATING_LAST_RESORT,
    Reason.PANIC,
    Reason.DRAINED_ZONE,
    Reason.ROLLOUT_EXCLUDED,
    Reason.ZONE_LOCAL,
)


@pytest.mark.parametrize(("higher", "lower"), tuple(pairwise(ORDER)))
def test_the_higher_reason_is_told_however_they_are_given(higher: Reason, lower: Reason) -> None:
    assert foremost(higher, lower) is foremost(lower, higher) is higher


def test_of_a_policys_own_reasons_the_first_is_told() -> None:
    assert foremost(Reason.SPILL_HEALTH, Reason.ZONE_LOCAL) is Reason.SPILL_HEALTH
    assert foremost(Reason.ZONE_LOCAL, Reason.SPILL_HEALTH) is Reason.ZONE_LOCAL


def test_one_reason_alone_is_told() -> None:
    assert foremost(Reason.ZONE_EMPTY) is Reason.ZONE_EMPTY
