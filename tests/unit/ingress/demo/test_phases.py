"""The four phases and what is said of them."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingress.demo.observing import RequestCounts
from ingress.demo.phases import PHASES, ChangeTraffic, PhaseResult, Summary, result_of, summary_table
from ingress.demo.traffic import Tally

ZONE_COUNTS = st.dictionaries(st.sampled_from(("zone-a", "zone-b", "zone-c")), st.integers(1, 50))


def tally_of(by_zone: Mapping[str, int], *, failed: int = 0) -> Tally:
    tally = Tally()
    for zone, count in by_zone.items():
        for _ in range(count):
            tally.record(zone)
    for _ in range(failed):
        tally.record(None)
    return tally


def result(
    tally: Tally, account: RequestCounts, *, change: Tally | None = None, own_zone: str = "zone-a"
) -> PhaseResult:
    return result_of(PHASES[0], own_zone=own_zone, tally=tally, account=account, change=change or Tally())


def test_the_phases_turn_the_flag_on_and_then_lose_and_regain_the_own_zone() -> None:
    assert [(phase.name, phase.zone_aware, phase.own_zone_up) for phase in PHASES] == [
        ("flag-off", False, True),
        ("flag-on", True, True),
        ("zone-down", True, False),
        ("zone-back", True, True),
    ]


def test_a_phase_has_the_zones_of_the_answers_and_the_reasons_of_the_ingress() -> None:
    by_zone = {"zone-b": 1, "zone-a": 3}

    said = result(
        tally_of(by_zone), RequestCounts(by_zone, {"zone_local": 4}), change=tally_of({"zone-a": 5}, failed=2)
    )

    assert said == PhaseResult(
        name="flag-off",
        requests=4,
        failed=0,
        by_to_zone={"zone-a": 3, "zone-b": 1},
        local_share=0.75,
        reasons={"zone_local": 4},
        change=ChangeTraffic(requests=7, failed=2),
    )


@pytest.mark.parametrize(
    ("counted", "failed"),
    [
        ({"zone-a": 3, "zone-b": 1}, 0),
        ({"zone-a": 2, "zone-b": 2}, 1),
        ({"zone-a": 3}, 1),
        ({"zone-a": 3, "zone-b": 1, "unknown": 2}, 2),
        ({}, 4),
    ],
)
def test_requests_on_which_the_two_accounts_disagree_failed(counted: dict[str, int], failed: int) -> None:
    assert result(tally_of({"zone-a": 3, "zone-b": 1}), RequestCounts(by_zone=counted)).failed == failed


def test_failed_requests_are_not_counted_again_for_the_zone_they_do_not_name() -> None:
    said = result(tally_of({"zone-a": 3}, failed=1), RequestCounts(by_zone={"zone-a": 3, "zone-b": 1}))

    assert (said.requests, said.failed, said.local_share) == (4, 1, 0.75)


@given(ZONE_COUNTS, st.integers(0, 5))
def test_the_zones_and_the_failed_add_up_to_the_requests(by_zone: dict[str, int], failed: int) -> None:
    said = result(tally_of(by_zone, failed=failed), RequestCounts(by_zone))

    assert sum(said.by_to_zone.values()) + said.failed == said.requests
    assert 0 <= said.local_share <= 1


def summary(*, failed: int = 0, failed_in_change: int = 0, failed_calls: int = 0) -> Summary:
    phases = (
        PhaseResult("flag-off", 3, 0, {"zone-a": 1, "zone-b": 2}, 1 / 3, {"off": 3}, ChangeTraffic(2, 0), 3e-9, 4.5e-9),
        PhaseResult("flag-on", 3, failed, {"zone-a": 3}, 1.0, {"zone_local": 3}, ChangeTraffic(20, failed_in_change)),
    )
    calls = (
        PhaseResult("flag-off", 2, failed_calls, {"zone-a": 1, "zone-c": 1}, 1 / 2, {"off": 2}, ChangeTraffic(1, 0)),
        PhaseResult("flag-on", 2, 0, {"zone-a": 2}, 1.0, {"zone_local": 2}, ChangeTraffic(1, 0)),
    )
    return Summary("zone-a", phases, calls)


def test_failures_of_phases_of_changes_and_of_calls_all_count() -> None:
    assert not summary().has_failures
    assert summary(failed=1).has_failures
    assert summary(failed_in_change=1).has_failures
    assert summary(failed_calls=1).has_failures


def test_the_summary_as_json_has_the_promised_keys() -> None:
    document = msgspec.json.decode(msgspec.json.encode(summary()))

    assert document["own_zone"] == "zone-a"
    assert document["phases"][0] == {
        "name": "flag-off",
        "requests": 3,
        "failed": 0,
        "by_to_zone": {"zone-a": 1, "zone-b": 2},
        "local_share": 1 / 3,
        "reasons": {"off": 3},
        "change": {"requests": 2, "failed": 0},
        "dollars": 3e-09,
        "blind_dollars": 4.5e-09,
    }
    assert [each["by_to_zone"] for each in document["grpc"]] == [{"zone-a": 1, "zone-c": 1}, {"zone-a": 2}]


def test_the_table_has_a_line_for_each_phase_and_one_for_its_calls() -> None:
    assert summary_table(summary(failed=1)).splitlines() == [
        "Own zone: zone-a",
        "",
        "phase     requests  failed  local  $/month  saved  to zone             reason        during the change",
        "flag-off  3         0       33%    2.59     1.30   zone-a 1, zone-b 2  off 3         2 requests, 0 failed",
        "  gRPC    2         0       50%    0.00     0.00   zone-a 1, zone-c 1  off 2         1 requests, 0 failed",
        "flag-on   3         1       100%   0.00     0.00   zone-a 3            zone_local 3  20 requests, 0 failed",
        "  gRPC    2         0       100%   0.00     0.00   zone-a 2            zone_local 2  1 requests, 0 failed",
        "",
        "Dollars are those of 30 days at 1,000 requests/s; saved: what a proxy without zones costs more.",
    ]
