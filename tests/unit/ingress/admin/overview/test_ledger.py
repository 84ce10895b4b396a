"""Facts, reports and counters in one row."""

from __future__ import annotations

from balancer.metrics.increments import Increment
from balancer.metrics.recorder import NUMBERS
from balancer.metrics.slots import Key
from balancer.model.publication import RoutingModel
from balancer.model.zones import OwnZone, Zone, ZoneFacts
from balancer.workers.messages import ZoneEvidence, ZoneReport
from balancer.workers.reports import FleetReport
from ingress.admin.overview.document import LocalityCounts, Mode, ServiceZone, SickZone, ZoneRow
from ingress.admin.overview.ledger import Ledger
from tests import builders as build

CART = ("shop", "cart")
MODEL = RoutingModel(
    backends=(build.backend(of=build.endpoints("aab"), zone_policy=build.PREFER_ZONE), build.backend("shop/pay:80")),
    own_zone=OwnZone(Zone("zone-a"), "flag"),
    zones=ZoneFacts(replicas=((Zone("zone-c"), 2),), drained=(Zone("zone-b"),)),
)


def ledger() -> Ledger:
    made = Ledger()
    for _ in made.catalog.follow(MODEL, now=1.0):
        pass
    labels = ("shop", "web", "cart", "zone-a", "zone-a", "local", "2xx")
    made.traffic.add([Increment(Key(NUMBERS["zonal_requests_total"], labels), 0, 7.0)])
    return made


def test_a_row_has_facts_and_counters() -> None:
    cart, pay = ledger().rows(0.0)
    assert (cart.name, cart.mode, cart.requests) == ("cart", Mode.ZONAL, LocalityCounts(local=7))
    assert (pay.name, pay.mode, pay.requests) == ("pay", Mode.EMPTY, LocalityCounts())


def test_endpoints_that_health_leaves_out_are_ejected_and_not_ready() -> None:
    made = ledger()
    assert made.take_report(FleetReport(left_out={("shop", "cart", "zone-a"): 1})) == {CART}
    (row,) = made.rows_of({CART}, 0.0)
    assert row.zones == (ServiceZone("zone-a", ready=1, ejected=1), ServiceZone("zone-b", ready=1))
    assert made.take_report(FleetReport(left_out={("shop", "cart", "zone-a"): 1})) == set()
    assert made.take_report(FleetReport()) == {CART}


def test_spill_ratio_and_overload_come_from_the_workers() -> None:
    made = ledger()
    report = FleetReport(spill_ratios={CART: 0.25}, overload_factors={("shop", "cart", "zone-a"): 1.5})
    assert made.take_report(report) == {CART}
    (row,) = made.rows_of({CART}, 0.0)
    assert (row.spill_ratio, row.overload_factor) == (0.25, 1.5)


def test_zones_are_all_that_have_an_endpoint_a_replica_or_traffic() -> None:
    made = ledger()
    made.take_report(FleetReport(left_out={("shop", "cart", "zone-a"): 1}))
    assert made.zone_rows(MODEL) == (
        ZoneRow("zone-a", own=True, ready=1, ejected=1),
        ZoneRow("zone-b", drained=True, ready=1),
        ZoneRow("zone-c", replicas=2),
    )


def test_what_has_changed_is_told_once() -> None:
    made = ledger()
    assert made.take_changed() == {CART, ("shop", "pay")}
    assert made.take_changed() == set()


def test_a_service_that_is_gone_has_no_row() -> None:
    assert list(ledger().rows_of({("shop", "gone")}, 0.0)) == []


def _reported(
    zone: str, state: str, share: float = 0.0, begun: ZoneEvidence | None = None, staying: str = ""
) -> ZoneReport:
    return ZoneReport(
        namespace="shop",
        service="cart",
        backend="shop/cart:80",
        zone=zone,
        state=state,
        share=share,
        begun=begun,
        staying=staying,
    )


def test_zones_that_fail_are_those_of_their_service_until_they_are_well() -> None:
    made, evidence = ledger(), ZoneEvidence(10, 9, 10, 0)
    assert made.take_report(
        FleetReport(
            zones=(
                _reported("zone-b", "well"),
                _reported("zone-a", "probing", 0.05),
                _reported("zone-a", "leaving", 0.3, evidence, "Ingress shop/web"),
            )
        )
    ) == {CART}
    (row,) = made.rows_of({CART}, 0.0)
    told = SickZone("zone-a", "leaving", share=0.3, is_left=True, reason="spill_errors", staying="Ingress shop/web")
    assert row.sick_zones == (told,)
    assert made.take_report(FleetReport(zones=(_reported("zone-a", "well"),))) == {CART}
    assert made.take_report(FleetReport()) == set()
    (row,) = made.rows_of({CART}, 0.0)
    assert row.sick_zones == ()
