"""A scrape shows the workers as one: what adds up, what is an average, and of what the worst counts."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from balancer.workers.messages import MemberReport, WorkerReport, ZoneReport
from balancer.workers.reports import FleetReport, failure_ratios, merged
from tests.properties import examples

ONE = WorkerReport(
    connections=(("client_active", 2), ("client_idle", 1)),
    left_out=(("shop", "catalog", "zone-a", 2), ("shop", "cart", "zone-b", 1)),
    spill_ratios=(("shop", "catalog", 0.5),),
    overload_factors=(("shop", "catalog", "zone-a", 3.0),),
    unwell=(("shop/catalog:80", "10.0.0.1:80", "ejected"), ("shop/catalog:80", "10.0.0.2:80", "ejected")),
    event_loop_lag_seconds=0.2,
)
OTHER = WorkerReport(
    connections=(("client_active", 3),),
    left_out=(("shop", "catalog", "zone-a", 1),),
    spill_ratios=(("shop", "catalog", 0.1), ("shop", "cart", 0.4)),
    overload_factors=(("shop", "catalog", "zone-a", 1.5),),
    unwell=(("shop/catalog:80", "10.0.0.1:80", "ejected"), ("shop/catalog:80", "10.0.0.2:80", "fails_checks")),
    event_loop_lag_seconds=0.1,
)


def test_of_nobody_only_the_lag_of_the_parent_is_known() -> None:
    assert merged(()) == FleetReport()
    assert merged((), lag_seconds=0.3) == FleetReport(event_loop_lag_seconds=0.3)


def test_connections_add_up() -> None:
    assert merged((ONE, OTHER)).connections == {("client_active",): 5.0, ("client_idle",): 1.0}


def test_an_endpoint_that_several_leave_out_is_one_endpoint() -> None:
    assert merged((ONE, OTHER)).left_out == {("shop", "catalog", "zone-a"): 2, ("shop", "cart", "zone-b"): 1}


def test_the_workers_that_hold_an_endpoint_for_unwell_are_counted() -> None:
    assert merged((ONE, OTHER)).unwell == {
        ("shop/catalog:80", "10.0.0.1:80", "ejected"): 2,
        ("shop/catalog:80", "10.0.0.2:80", "ejected"): 1,
        ("shop/catalog:80", "10.0.0.2:80", "fails_checks"): 1,
    }


def test_the_share_that_spills_is_the_mean() -> None:
    assert merged((ONE, OTHER)).spill_ratios == {("shop", "catalog"): 0.3, ("shop", "cart"): 0.4}


def zone(
    zone: str, state: str, share: float, answers: int, failed: int, *, port: int = 80, seconds: float = 1.0
) -> ZoneReport:
    return ZoneReport(
        namespace="shop",
        service="cart",
        backend=f"shop/cart:{port}",
        zone=zone,
        state=state,
        share=share,
        answers=answers,
        failed=failed,
        other_answers=50,
        other_failed=1,
        seconds=seconds,
    )


def test_a_zone_is_as_the_worker_sees_it_that_leaves_it_furthest_with_the_mean_of_the_shares() -> None:
    one = WorkerReport(zones=(zone("zone-a", "leaving", 0.9, 100, 40, seconds=3.0), zone("zone-b", "well", 0.0, 50, 1)))
    other = WorkerReport(zones=(zone("zone-a", "probing", 0.1, 50, 20, seconds=9.0),))
    a, b = merged((one, other)).zones
    assert (a.state, a.share, a.answers, a.failed, a.other_answers, a.seconds) == ("leaving", 0.5, 150, 60, 100, 9.0)
    assert (b.state, b.share, b.answers) == ("well", 0.0, 50)


def test_the_share_of_failures_of_a_zone_is_over_all_ports_of_a_service() -> None:
    zones = (zone("zone-a", "leaving", 0.9, 100, 40), zone("zone-a", "well", 0.0, 300, 0, port=443))
    assert failure_ratios(zones) == {("shop", "cart", "zone-a"): 0.1}
    assert failure_ratios([zone("zone-a", "well", 0.0, 0, 0)]) == {("shop", "cart", "zone-a"): 0.0}


def test_the_worst_overload_and_the_worst_lag_count() -> None:
    both = merged((ONE, OTHER), lag_seconds=0.05)
    assert both.overload_factors == {("shop", "catalog", "zone-a"): 3.0}
    assert both.event_loop_lag_seconds == 0.2
    assert merged((ONE, OTHER), lag_seconds=7.0).event_loop_lag_seconds == 7.0


def test_what_workers_say_about_an_endpoint_is_added_up() -> None:
    place = ("shop/cart:80", "10.0.0.1:80")
    reports = (
        WorkerReport(members=(MemberReport(*place, 2, 0.2, None),)),
        WorkerReport(members=(MemberReport(*place, 1, None, 4.0), MemberReport("shop/cart:80", "10.0.0.2:80"))),
        WorkerReport(members=(MemberReport(*place, 0, 0.4, 6.0),)),
    )
    one, other = merged(reports).members
    assert (one.in_flight, one.ejected_seconds) == (3, 6.0)
    assert one.latency_seconds is not None
    assert round(one.latency_seconds, 9) == 0.3
    assert other == MemberReport("shop/cart:80", "10.0.0.2:80")


_RATIOS = st.lists(
    st.tuples(st.sampled_from("ab"), st.just("s"), st.floats(0, 1)), max_size=2, unique_by=lambda item: item[0]
)


@given(st.lists(_RATIOS, max_size=5), st.randoms())
@examples(50)
def test_the_order_of_workers_does_not_matter_and_no_share_leaves_its_bounds(
    ratios: list[list[tuple[str, str, float]]], shuffle: Random
) -> None:
    reports = [WorkerReport(spill_ratios=tuple(each)) for each in ratios]
    before = merged(reports).spill_ratios
    shuffle.shuffle(reports)
    after = merged(reports).spill_ratios
    assert {key: round(value, 9) for key, value in before.items()} == {
        key: round(value, 9) for key, value in after.items()
    }
    assert all(0 <= ratio <= 1 for ratio in before.values())
