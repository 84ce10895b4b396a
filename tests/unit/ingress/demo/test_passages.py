"""The summary of the live demo: each passage has what came of its own requests."""

from __future__ import annotations

from ingress.demo.passages import Passages
from ingress.demo.traffic import Tally


def record(tally: Tally, *zones: str | None) -> None:
    for zone in zones:
        tally.record(zone)


def test_each_passage_counts_its_own_traffic_and_the_whole_counts_all() -> None:
    tally = Tally()
    passages = Passages(tally, own_zone="zone-a")
    record(tally, "zone-b", None)
    passages.begin("flag-off")
    record(tally, "zone-a", "zone-b", "zone-b", "zone-c")
    passages.end()
    record(tally, "zone-a")
    passages.begin("flag-on")
    record(tally, "zone-a", "zone-a", None)
    passages.begin("zone-down")
    passages.end()
    assert passages.summary().splitlines() == [
        "Own zone: zone-a",
        "",
        "phase      requests  failed  local",
        "flag-off   4         0       25%",
        "flag-on    3         1       67%",
        "zone-down  0         0       -",
        "in all     10        2",
    ]


def test_what_is_stopped_early_has_a_summary_too() -> None:
    passages = Passages(Tally(), own_zone="zone-a")
    passages.end()
    assert passages.summary().splitlines()[2:] == ["phase   requests  failed  local", "in all  0         0"]
