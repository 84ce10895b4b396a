"""The sentence about a dry run: the share that would stay, and dollars a month."""

from __future__ import annotations

import pytest

from balancer.zones.cost import MONTH_SECONDS
from ingress.admin.overview.document import TriedPolicy
from ingress.admin.overview.tried_texts import dry_run_text


@pytest.mark.parametrize(
    ("kept", "dollars", "text"),
    [
        (100, 10.0, "dry run: would keep 100 % in the zone, saving $10.00 a month"),
        (99, 1234.5, "dry run: would keep 99.0 % in the zone, saving $1,234.50 a month"),
        (0, -2.0, "dry run: would keep 0 % in the zone, costing $2.00 more a month"),
        (100, -0.001, "dry run: would keep 100 % in the zone, saving $0.00 a month"),
    ],
)
def test_the_sentence_has_the_share_and_the_dollars_of_a_month(kept: int, dollars: float, text: str) -> None:
    tried = TriedPolicy(100.0, requests=100, kept=kept, saved_dollars=dollars / MONTH_SECONDS * 60.0)
    assert dry_run_text([(tried, 160.0)]) == text


def test_replicas_are_added_up_each_over_its_own_time() -> None:
    one = TriedPolicy(0.0, requests=10, kept=10, saved_dollars=1.0 / MONTH_SECONDS * 10.0)
    other = TriedPolicy(90.0, requests=30, kept=10, saved_dollars=2.0 / MONTH_SECONDS * 10.0)
    told = dry_run_text([(one, 10.0), (other, 100.0)])
    assert told == "dry run: would keep 50.0 % in the zone, saving $3.00 a month"


def test_without_a_request_nothing_is_claimed() -> None:
    assert dry_run_text([(TriedPolicy(10.0), 20.0)]) == "dry run: no request yet"
    assert dry_run_text([(TriedPolicy(10.0, requests=1), 10.0)]) == "dry run: no request yet"
