"""The summary of the live demo: each passage has what came of its own requests."""

from __future__ import annotations

from ingress.demo.observing import RequestCounts
from ingress.demo.passages import Passages


def record(passages: Passages, *zones: str | None) -> None:
    for zone in zones:
        passages.at_start().record(zone)


def test_each_passage_counts_its_own_traffic_and_the_whole_counts_all() -> None:
    passages = Passages(own_zone="zone-a")
    record(passages, "zone-b", None)
    passages.begin("flag-off")
    record(passages, "zone-a", "zone-b", "zone-b", "zone-c")
    passages.end()
    record(passages, "zone-a")
    passages.begin("flag-on")
    record(passages, "zone-a", "zone-a", None)
    passages.begin("zone-down")
    passages.end()
    assert passages.summary().splitlines() == [
        "Own zone: zone-a",
        "",
        "phase      requests  failed  local  $/month  saved",
        "flag-off   4         0       25%    -        -",
        "flag-on    3         1       67%    -        -",
        "zone-down  0         0       -      -        -",
        "in all     10        2              -        -",
        "",
        "Dollars are those of 30 days at the rate of the phase; saved: what a proxy without zones costs more.",
    ]


def test_a_request_counts_in_the_passage_in_which_it_began() -> None:
    passages = Passages(own_zone="zone-a")
    passages.begin("flag-off")
    late = passages.at_start()
    passages.begin("flag-on")
    record(passages, "zone-a")
    late.record("zone-b")
    assert [line.split() for line in passages.summary().splitlines()[3:6]] == [
        ["flag-off", "1", "0", "0%", "-", "-"],
        ["flag-on", "1", "0", "100%", "-", "-"],
        ["in", "all", "2", "0", "-", "-"],
    ]


def account(dollars: float, blind_dollars: float) -> RequestCounts:
    return RequestCounts(dollars=dollars, blind_dollars=blind_dollars)


def test_each_passage_has_the_dollars_that_were_told_in_it() -> None:
    passages = Passages(own_zone="zone-a")
    passages.note((account(1.0, 1.0), account(5.0, 5.0)), 100.0)
    passages.begin("flag-off")
    passages.note((account(1.0 + 1e-6, 1.0 + 1e-6), account(5.0, 5.0)), 101.0)
    passages.end()
    passages.note((account(1.0 + 3e-6, 1.0 + 3e-6), account(5.0, 5.0)), 102.0)
    passages.begin("flag-on")
    passages.note((account(1.0 + 3e-6, 1.0 + 5e-6), account(5.0, 5.0 + 2e-6)), 104.0)
    assert [line.split()[-2:] for line in passages.summary().splitlines()[3:6]] == [
        ["2.59", "0.00"],
        ["0.00", "5.18"],
        ["1.94", "2.59"],
    ]


def test_what_is_stopped_early_has_a_summary_too() -> None:
    passages = Passages(own_zone="zone-a")
    passages.end()
    assert passages.summary().splitlines()[2:4] == [
        "phase   requests  failed  local  $/month  saved",
        "in all  0         0              -        -",
    ]
