"""What a dry run would have changed: counted from its beginning, once for each dry run."""

from __future__ import annotations

from ingress.admin.overview.catalog import ServiceFacts
from ingress.admin.overview.document import TriedPolicy
from ingress.admin.overview.dry_runs import DryRuns
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
