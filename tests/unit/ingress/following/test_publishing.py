"""A model is served once, however often it is published, and a scrape is told what was published last."""

from __future__ import annotations

from importlib.metadata import version

import msgspec

from balancer.metrics.snapshots import Snapshot
from balancer.model.publication import Publication
from balancer.model.zones import Zone
from balancer.workers.messages import ZoneReport
from balancer.workers.reports import FleetReport
from ingress.findings import Finding, Severity
from ingress.following.publishing import Published, with_report
from tests.unit.ingress.cluster import backend, endpoint, endpoint_slice, ingress, path, rule, service, translated


def test_before_the_first_publication_there_is_only_a_version() -> None:
    published = Published(lambda _: None)
    assert published.publication is None
    assert published.findings == ()
    snapshot = published.snapshot()
    assert (snapshot.version, snapshot.generation) == (version("zonal-ingress"), 0)
    assert snapshot.published_at_epoch_seconds is None


def test_findings_about_this_process_are_there_from_the_first_publication_on() -> None:
    own = Finding("Build", "", "data-plane", "PureBuild", "plain", "slower", Severity.COSMETIC)
    published = Published(lambda _: None, own=(own,))
    published.publish(translated(ingress("web", rule()), service(), endpoint_slice()), translation_seconds=0.1)
    assert own in published.findings
    published.publish(translated(), translation_seconds=0.1)
    assert own in published.findings


def test_generations_grow_by_one_with_each_new_model() -> None:
    served: list[Publication] = []
    published = Published(served.append)
    one = translated(ingress("one", rule("one.test")), service(), endpoint_slice())
    two = translated(ingress("two", rule("two.test")), service(), endpoint_slice())
    assert published.publish(one, translation_seconds=0.1)
    assert published.publish(two, translation_seconds=0.1)
    assert published.publish(one, translation_seconds=0.1)
    assert [publication.generation for publication in served] == [1, 2, 3]
    assert [publication.model for publication in served] == [one.model, two.model, one.model]
    assert published.publication == served[-1]


def test_an_equal_model_is_not_served_again_but_its_findings_are_kept() -> None:
    served: list[Publication] = []
    published = Published(served.append)
    clean = translated(ingress("web", rule()), service(), endpoint_slice())
    noted = translated(
        ingress("web", rule(), annotations={"zonal-ingress.io/unheard-of": "x"}), service(), endpoint_slice()
    )
    assert clean.model == noted.model
    published.publish(clean, translation_seconds=0.1)
    at = published.snapshot().published_at_epoch_seconds
    assert not published.publish(noted, translation_seconds=0.25)
    assert len(served) == 1
    assert published.findings == noted.findings != ()
    snapshot = published.snapshot()
    assert snapshot.findings == {("Ingress", "UnknownAnnotation", "degraded"): 1.0}
    assert snapshot.translation_seconds == 0.25
    assert (snapshot.generation, snapshot.published_at_epoch_seconds) == (1, at)


def test_requests_by_zone_are_served_with_the_last_model_and_with_each_later_one() -> None:
    served: list[Publication] = []
    published = Published(served.append)
    traffic = (("shop/cart", ((Zone("zone-a"), 9000), (Zone("zone-b"), 1000))),)
    published.use_fleet(traffic)  # before there is a model
    one = translated(ingress("one", rule("one.test")), service(), endpoint_slice())
    two = translated(ingress("two", rule("two.test")), service(), endpoint_slice())
    published.publish(one, translation_seconds=0.1)
    published.use_fleet(traffic)
    published.publish(two, translation_seconds=0.1)
    published.use_fleet(())
    assert [publication.generation for publication in served] == [1, 2, 3]
    assert [publication.model.zones.traffic for publication in served] == [traffic, traffic, ()]
    assert served[-1].model == two.model


def test_the_snapshot_counts_routes_and_endpoints() -> None:
    published = Published(lambda _: None)
    endpoints = (
        endpoint("10.0.0.1", zone="zone-a"),
        endpoint("10.0.0.2", zone="zone-a"),
        endpoint("10.0.0.3", zone="zone-b", ready=False, serving=True, terminating=True),
        endpoint("10.0.0.4"),
    )
    translation = translated(
        ingress("web", rule("shop.test", path("/"), path("/cart"))),
        ingress(
            "trial",
            rule("shop.test", path("/", to=backend("next"))),
            annotations={"nginx.ingress.kubernetes.io/canary": "true"},
        ),
        service(),
        service("next"),
        endpoint_slice("cart-1", *endpoints),
    )
    published.publish(translation, translation_seconds=0.1)
    snapshot = published.snapshot()
    assert snapshot.routes == {("shop", "web", "cart"), ("shop", "trial", "next")}
    assert snapshot.route_kinds == (("shop", "trial", "Ingress", "next"), ("shop", "web", "Ingress", "cart"))
    assert snapshot.endpoints == {
        ("shop", "cart", "zone-a", "ready"): 2.0,
        ("shop", "cart", "zone-b", "draining"): 1.0,
        ("shop", "cart", "unknown", "ready"): 1.0,
        ("shop", "next", "zone-a", "ready"): 1.0,
    }


def test_a_snapshot_between_two_changes_counts_as_one_after_both() -> None:
    asked, unasked = Published(lambda _: None), Published(lambda _: None)
    for name, zones in (("web", "aab"), ("web", "abc"), ("shop", "abc"), ("shop", "b")):
        endpoints = [endpoint(f"10.0.0.{number}", zone=f"zone-{zone}") for number, zone in enumerate(zones, 1)]
        translation = translated(ingress(name, rule()), service(), endpoint_slice("cart-1", *endpoints))
        for published in (asked, unasked):
            published.publish(translation, translation_seconds=0.1)
        snapshot = asked.snapshot()
        zones_told = sorted(place[2][-1] * int(count) for place, count in snapshot.endpoints.items())
        assert "".join(zones_told) == zones
        assert snapshot.routes == {("shop", name, "cart")}
    at = asked.snapshot().published_at_epoch_seconds
    assert asked.snapshot() == msgspec.structs.replace(unasked.snapshot(), published_at_epoch_seconds=at)


def ready(published: Published) -> dict[tuple[str, str], float]:
    """What a scrape says of ready endpoints, by Service and zone."""
    endpoints = with_report(published.snapshot(), FleetReport()).endpoints
    return {(place[1], place[2]): count for place, count in endpoints.items() if place[3] == "ready"}


def test_a_service_without_ready_endpoints_has_none_instead_of_no_series() -> None:
    published = Published(lambda _: None)
    fixed = (ingress("web", rule("shop.test", path("/"), path("/next", to=backend("next")))), service())
    next_slice = endpoint_slice("next-1", endpoint("10.0.1.1", zone="zone-b"), of="next")
    draining = endpoint("10.0.0.1", zone="zone-a", ready=False, serving=True, terminating=True)
    for of_cart, expected in (
        ([endpoint_slice("cart-1", endpoint("10.0.0.1", zone="zone-a"))], {("cart", "zone-a"): 1.0}),
        ([endpoint_slice("cart-1", draining)], {("cart", "unknown"): 0.0}),
        ([endpoint_slice("cart-1", endpoint("10.0.0.1", ready=False))], {("cart", "unknown"): 0.0}),
        ([endpoint_slice("cart-1", endpoint("10.0.0.1", zone="zone-c"))], {("cart", "zone-c"): 1.0}),
    ):
        published.publish(translated(*fixed, service("next"), next_slice, *of_cart), translation_seconds=0.1)
        assert ready(published) == {**expected, ("next", "zone-b"): 1.0}
    published.publish(translated(*fixed, *of_cart), translation_seconds=0.1)
    assert ready(published) == {("cart", "zone-c"): 1.0, ("next", "unknown"): 0.0}, "a Service that is not there"


def test_a_closed_path_says_nothing_of_endpoints() -> None:
    published = Published(lambda _: None)
    closed = ingress("web", rule(), annotations={"nginx.ingress.kubernetes.io/auth-snippet": "deny all;"})
    published.publish(translated(closed, service(), endpoint_slice("cart-1")), translation_seconds=0.1)
    assert ready(published) == {}


def test_what_health_leaves_out_is_ejected_and_no_longer_ready() -> None:
    snapshot = Snapshot(version="1", endpoints={("shop", "cart", "zone-a", "ready"): 3.0})
    assert with_report(snapshot, FleetReport()) == snapshot
    assert with_report(snapshot, FleetReport(left_out={("shop", "cart", "zone-a"): 1})).endpoints == {
        ("shop", "cart", "zone-a", "ready"): 2.0,
        ("shop", "cart", "zone-a", "ejected"): 1.0,
    }
    assert snapshot.endpoints == {("shop", "cart", "zone-a", "ready"): 3.0}, "the next scrape counts anew"


SICK = ZoneReport(
    namespace="shop",
    service="cart",
    backend="shop/cart:80",
    zone="zone-a",
    state="leaving",
    share=0.97,
    answers=8,
    failed=2,
)


def test_what_workers_say_is_shown_as_it_is() -> None:
    report = FleetReport(
        connections={("client_idle",): 2.0},
        spill_ratios={("shop", "cart"): 0.25},
        overload_factors={("shop", "cart", "zone-a"): 3.0},
        zones=(SICK,),
        event_loop_lag_seconds=0.5,
    )
    snapshot = with_report(Snapshot(version="1"), report)
    assert (snapshot.connections, snapshot.event_loop_lag_seconds) == (report.connections, 0.5)
    assert snapshot.failure_ratios == {("shop", "cart", "zone-a"): 0.25}
    assert (snapshot.spill_ratios, snapshot.overload_factors) == (report.spill_ratios, report.overload_factors)


SEEN = Finding("Service", "shop", "cart", "ZoneSick", "Look.", "Requests leave.", Severity.DEGRADED)


def test_findings_that_requests_have_shown_stand_beside_those_of_the_translation() -> None:
    published = Published(lambda _: None)
    noted = translated(
        ingress("web", rule(), annotations={"zonal-ingress.io/unheard-of": "x"}), service(), endpoint_slice()
    )
    assert published.see((SEEN,))
    assert not published.see((SEEN,))
    published.publish(noted, translation_seconds=0.1)
    both = published.findings
    assert set(both) == {SEEN, *noted.findings}
    assert published.snapshot().findings["Service", "ZoneSick", "degraded"] == 1.0
    published.publish(noted, translation_seconds=0.1)
    assert published.findings is both, "nobody has to compare them again"
    assert published.see(())
    assert published.findings is noted.findings
    assert ("Service", "ZoneSick", "degraded") not in published.snapshot().findings
