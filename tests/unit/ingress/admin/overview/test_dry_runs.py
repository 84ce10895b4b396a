"""What a dry run would have changed: counted from its beginning, and told in one sentence."""

from __future__ import annotations

import pytest

from ingress.admin.overview.catalog import ServiceFacts
from ingress.admin.overview.document import TriedPolicy
from ingress.admin.overview.dry_runs import MONTH_SECONDS, DryRuns, dry_run_text
from ingress.admin.overview.traffic import ServiceAccount

CART = "shop", "cart"
TRIED = {CART: ServiceFacts(policy="prefer-zone", dry_run=True)}
IN_FORCE = {CART: ServiceFacts(policy="prefer-zone")}


def account(requests: float, kept: float, dollars: float, would: float) -> ServiceAccount:
    counted = ServiceAccount()
    counted.dry_run_requests = requests
    counted.dry_run_kept = kept
    counted.dollars = dollars
    counted.dry_run_dollars = would
    return counted


def test_only_what_is_counted_since_its_beginning_belongs_to_a_dry_run() -> None:
    runs = DryRuns()
    runs.follow(IN_FORCE, {CART: account(0, 0, 100.0, 0.0)}, 50.0)
    assert runs.of(CART, account(0, 0, 100.0, 0.0)) is None
    runs.follow(TRIED, {CART: account(0, 0, 100.0, 0.0)}, 60.0)
    runs.follow(TRIED, {CART: account(5, 5, 101.0, 0.0)}, 70.0)
    assert runs.of(CART, account(10, 8, 103.0, 1.0)) == TriedPolicy(60.0, requests=10, kept=8, saved_dollars=2.0)


def test_a_second_dry_run_begins_anew() -> None:
    runs = DryRuns()
    runs.follow(TRIED, {}, 10.0)
    runs.follow(IN_FORCE, {CART: account(10, 8, 3.0, 1.0)}, 20.0)
    runs.follow(TRIED, {CART: account(10, 8, 9.0, 1.0)}, 30.0)
    assert runs.of(CART, account(12, 10, 9.5, 1.0)) == TriedPolicy(30.0, requests=2, kept=2, saved_dollars=0.5)


def test_a_service_that_goes_is_forgotten() -> None:
    runs = DryRuns()
    runs.follow(TRIED, {}, 10.0)
    runs.follow({}, {}, 20.0)
    assert runs.of(CART, ServiceAccount()) is None


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
