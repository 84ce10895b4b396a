"""Rates come from two documents of each replica, and replicas add up."""

from __future__ import annotations

import msgspec
import pytest

from balancer.zones.cost import MONTH_SECONDS
from ingress.admin.overview.document import Mode, Overview, ServiceZone
from ingress.cli.terminal.rates import FlowRates, traffic
from tests.unit.ingress.cli.terminal.documents import durations, flow, overview, service


def test_a_rate_is_the_growth_divided_by_the_seconds_between() -> None:
    before = overview(100.0, flows=(flow("zone-b", 10, errors=1, size=1000, price=0.02),))
    after = overview(110.0, flows=(flow("zone-b", 60, errors=6, size=10**9 + 1000, price=0.02),))
    (found,) = traffic([(before, after)]).flows
    assert msgspec.structs.replace(found, dollars_per_month=0.0) == FlowRates("zone-a", "zone-b", 5.0, 0.5, 1e8)
    assert found.dollars_per_month == pytest.approx(0.002 * MONTH_SECONDS)


def test_replicas_add_up_by_zones_and_by_service() -> None:
    pairs = [
        (
            overview(100.0, flows=(flow("zone-a", 0),), services=(service("cart"),)),
            overview(110.0, flows=(flow("zone-a", 100),), services=(service("cart", 100),)),
        ),
        (
            overview(200.0, flows=(flow("zone-a", 7, own="zone-b"),), services=(service("cart", 1, 1),)),
            overview(205.0, flows=(flow("zone-a", 57, own="zone-b"),), services=(service("cart", 1, 51),)),
        ),
    ]
    found = traffic(pairs)
    assert (found.replicas, found.counted) == (2, 2)
    assert [(each.from_zone, each.to_zone, each.requests_per_second) for each in found.flows] == [
        ("zone-a", "zone-a", 10.0),
        ("zone-b", "zone-a", 10.0),
    ]
    (cart,) = found.services
    assert (cart.requests_per_second, cart.local_per_second, cart.remote_per_second) == (20.0, 10.0, 10.0)
    assert cart.local_share == 0.5


@pytest.mark.parametrize("after", [overview(110.0, started=50.0), overview(100.0)])
def test_a_replica_that_restarted_or_stood_still_has_no_rates_yet(after: Overview) -> None:
    newest = msgspec.structs.replace(after, services=(service("cart", 5, zones=(ServiceZone("zone-a", ready=2),)),))
    found = traffic([(overview(100.0, services=(service("cart"),)), newest)])
    assert (found.replicas, found.counted) == (1, 0)
    (cart,) = found.services
    assert (cart.ready, cart.requests_per_second, cart.local_share) == (2, 0.0, None)


def test_the_first_document_gives_facts_alone() -> None:
    found = traffic([(None, overview(services=(service("cart", 5),)))])
    assert (found.counted, [each.name for each in found.services]) == (0, ["cart"])


def test_a_counter_that_shrank_has_not_grown() -> None:
    """The series of a Service begin anew when its last route goes and comes again."""
    before, after = (overview(at, services=(service("cart", count),)) for at, count in ((1.0, 9), (2.0, 3)))
    assert traffic([(before, after)]).services[0].requests_per_second == 0.0


def test_what_came_between_the_documents_counts_from_nothing() -> None:
    before, after = overview(1.0, services=()), overview(3.0, services=(service("cart", 8),))
    assert traffic([(before, after)]).services[0].requests_per_second == 4.0


def test_modes_of_replicas_stand_side_by_side_and_the_worst_spill_counts() -> None:
    zones = (ServiceZone("zone-a", ready=2), ServiceZone("zone-b", ready=1, ejected=1))
    one = overview(services=(service("cart", zones=zones, spill_ratio=0.1),))
    other = overview(
        services=(service("cart", mode=Mode.GENERAL, reason="zone_empty", zones=zones[:1], spill_ratio=0.4),)
    )
    (cart,) = traffic([(None, one), (None, other)]).services
    assert (cart.modes, cart.reasons) == (("general", "zonal"), ("zone_empty", "zone_local"))
    assert (cart.ready, cart.ejected, cart.spill_ratio) == (3, 1, 0.4)


def test_quantiles_are_of_the_requests_between() -> None:
    slow, fast = (0, 0, 100, 0), (100, 0, 0, 0)
    before = overview(1.0, services=(service("cart", durations=durations(local=slow)),))
    after = overview(2.0, services=(service("cart", durations=durations((100, 0, 100, 0), fast)),))
    (cart,) = traffic([(before, after)]).services
    assert cart.p99_seconds is not None and cart.p99_seconds <= 0.001
    assert cart.p99_remote_seconds == pytest.approx(0.00099)


def test_a_replica_with_other_bounds_counts_except_for_durations() -> None:
    rows = (service("cart", 1, durations=durations((1, 0, 0, 0))),)
    pair = overview(1.0, services=()), overview(2.0, services=rows)
    strange = tuple(msgspec.structs.replace(each, bounds_seconds=(5.0,)) for each in pair)
    (cart,) = traffic([pair, (strange[0], strange[1])]).services
    assert cart.requests_per_second == 2.0
    assert cart.p99_seconds is not None and cart.p99_seconds < 0.001
