"""Months of the calendar, and the lines of each."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from ingress.migration.savings.prometheus import Sample
from ingress.migration.savings.showback import as_csv, months_until, showback

NOW = datetime(2026, 2, 10, 12, 0, tzinfo=UTC)
SHOP = {"namespace": "shop"}


def ask(query: str, at: float) -> Sequence[Sample]:
    assert at
    if "zone_bytes" in query:
        zones = [("zone-a", "zone-a", 3e9), ("zone-a", "zone-b", 2e9), ("zone-a", "unknown", 1e9)]
        return [({**SHOP, "from_zone": source, "to_zone": target}, size) for source, target, size in zones]
    return [(SHOP, 0.5 if "blind" in query else 0.125), ({"namespace": "bank"}, 0.0)]


def test_months_are_those_of_the_calendar_and_the_present_one_ends_now() -> None:
    months = months_until(NOW, 3)
    assert [each.name for each in months] == ["2025-12", "2026-01", "2026-02"]
    assert [each.end_epoch_seconds for each in months[:2]] == [each.begin_epoch_seconds for each in months[1:]]
    assert months[-1].end_epoch_seconds == NOW.timestamp()
    assert months[0].begin_epoch_seconds == datetime(2025, 12, 1, tzinfo=UTC).timestamp()


def test_at_the_first_moment_of_a_month_that_month_has_no_line() -> None:
    first = datetime(2026, 3, 1, tzinfo=UTC)
    assert [each.name for each in months_until(first, 2)] == ["2026-02"]


def test_a_question_is_for_the_whole_month() -> None:
    asked: list[tuple[str, float]] = []

    def note(query: str, at: float) -> Sequence[Sample]:
        asked.append((query, at))
        return []

    (january,) = months_until(NOW, 2)[:1]
    assert list(showback(note, [january], by_service=True)) == []
    assert {at for _, at in asked} == {datetime(2026, 2, 1, tzinfo=UTC).timestamp()}
    assert all(f"[{31 * 86400}s]" in query for query, _ in asked)
    assert all("exported_service" in query for query, _ in asked)


def test_a_line_has_bytes_between_known_zones_costs_and_what_was_saved() -> None:
    bank, shop = showback(ask, months_until(NOW, 1), by_service=False)
    assert (bank.namespace, bank.gigabytes, bank.saved_dollars) == ("bank", 0.0, 0.0)
    assert (shop.namespace, shop.service, shop.gigabytes, shop.gigabytes_between_zones) == ("shop", "", 6.0, 2.0)
    assert (shop.cost_dollars, shop.blind_dollars, shop.saved_dollars) == (0.125, 0.5, 0.375)


def test_the_csv_has_heads_and_the_bound_above() -> None:
    heads, _, shop = as_csv(list(showback(ask, months_until(NOW, 1), by_service=False))).splitlines()
    assert heads.startswith("month,namespace,service,gigabytes,")
    assert shop == "2026-02,shop,,6.0000,2.0000,0.1250,0.5000,0.3750,0.4050"
