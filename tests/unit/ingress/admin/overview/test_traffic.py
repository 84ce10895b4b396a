"""Increments of counter tables become accounts of zones and Services."""

from __future__ import annotations

from balancer.metrics.increments import Increments
from balancer.metrics.kinds import BUCKETS_SECONDS
from balancer.metrics.recorder import Recorder, RequestLabels, RouteLabels
from balancer.metrics.slots import SlotTable
from balancer.metrics.totals import Totals
from balancer.model.zones import Zone, ZonePrices
from ingress.admin.overview.document import Flow, LocalityCounts
from ingress.admin.overview.traffic import TrafficCounts, flow_rows

ROOM = 1024 * 1024


class Counted:
    """A recorder with the traffic that is read from its table."""

    def __init__(self) -> None:
        self._buffer = bytearray(ROOM)
        self._increments = Increments(Totals())
        self.recorder = Recorder(SlotTable(self._buffer))
        self.traffic = TrafficCounts()

    def request(
        self, service: str = "cart", *, to: str | None = "zone-a", status: int = 200, seconds: float = 0.004
    ) -> None:
        """A request from zone-a to an endpoint in a zone, or one that had no endpoint."""
        locality = "unknown" if to is None else "local" if to == "zone-a" else "remote"
        reason = None if to is None else "zone_local" if locality == "local" else "spill_load"
        self.recorder.request(
            RequestLabels("shop", "web", service, "zone-a", to or "unknown", locality, status, reason),
            seconds,
            endpoint_seconds=None if to is None else seconds,
            request_bytes=100,
            response_bytes=2000,
            dollars=0.5 if locality == "remote" else 0.0,
            blind_dollars=0.25 if to else 0.0,
        )

    def read(self) -> TrafficCounts:
        for batch in self._increments.look([self._buffer]):
            self.traffic.add(batch)
        return self.traffic


def test_requests_are_added_up_by_service_zone_and_in_all() -> None:
    counted = Counted()
    counted.request()
    counted.request(to="zone-b", status=502)
    counted.request("pay")
    traffic = counted.read()
    cart = traffic.services["shop", "cart"]
    assert cart.requests == LocalityCounts(local=1, remote=1)
    assert (cart.errors, cart.sent, cart.received, cart.dollars, cart.blind_dollars) == (1, 200, 4000, 0.5, 0.5)
    assert cart.reason_counts == {"spill_load": 1, "zone_local": 1}
    assert traffic.whole.requests == LocalityCounts(local=2, remote=1)
    assert traffic.whole.spilled == 1
    assert traffic.take_changed() == {("shop", "cart"), ("shop", "pay")}
    assert traffic.take_changed() == set()


def test_a_request_without_an_endpoint_has_no_locality_duration_or_bytes() -> None:
    counted = Counted()
    counted.request(to=None, status=503)
    account = counted.read().services["shop", "cart"]
    assert account.requests == LocalityCounts(unknown=1)
    assert (account.errors, account.received, account.durations.local, account.durations.remote) == (1, 0, (), ())


def test_durations_are_counted_by_bucket() -> None:
    counted = Counted()
    for seconds in (0.0004, 0.004, 100.0):
        counted.request(seconds=seconds)
    local = counted.read().services["shop", "cart"].durations.local
    assert len(local) == len(BUCKETS_SECONDS) + 1
    assert [number for number, count in enumerate(local) if count] == [0, 3, len(BUCKETS_SECONDS)]


def test_flows_have_the_prices_that_hold_now() -> None:
    counted = Counted()
    counted.request()
    counted.request(to="zone-b")
    counted.request(to=None)
    prices = ZonePrices(0.02, ((Zone("zone-a"), Zone("zone-b"), 0.5),))
    assert flow_rows(counted.read(), prices) == (
        Flow("zone-a", "unknown", requests=1),
        Flow("zone-a", "zone-a", requests=1, sent_bytes=100, received_bytes=2000),
        Flow(
            *("zone-a", "zone-b"), requests=1, sent_bytes=100, received_bytes=2000, sent_price=0.5, received_price=0.02
        ),
    )


def test_retries_ejections_and_restarts_are_counted() -> None:
    counted = Counted()
    counted.recorder.retry("shop", "cart", "connect_refused")
    counted.recorder.ejection("shop", "cart")
    counted.recorder.worker_restart()
    traffic = counted.read()
    account = traffic.services["shop", "cart"]
    assert (account.retries, account.ejections, traffic.restarts) == (1, 1, 1)


def test_zones_that_requests_begin_to_leave_are_counted_also_in_a_dry_run() -> None:
    counted = Counted()
    for dry_run in (False, True):
        counted.recorder.zone_evacuation("shop", "cart", "zone-a", dry_run=dry_run)
    assert counted.read().evacuations == 2.0


def test_requests_and_errors_are_added_up_by_path() -> None:
    counted, path = Counted(), RouteLabels("shop", "web", "cart", "shop.test", "/", "Prefix")
    slot = counted.recorder.route_slot(path)
    labels = RequestLabels("shop", "web", "cart", "zone-a", "unknown", "unknown", 200)
    for route in (slot, slot, slot + 1):
        counted.recorder.request(labels, 0.1, None, 0, 0, route=route)
    account = counted.read().routes[path]
    assert (account.requests, account.errors) == (3.0, 1.0)
    counted.recorder.request(labels, 0.1, None, 0, 0, route=slot)
    assert counted.read().routes[path].requests == 4.0
