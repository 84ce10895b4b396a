"""One swap changes everything at once, keeps what has not changed, and says what left."""

from __future__ import annotations

import random
import sys
from collections import Counter
from types import FrameType

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.live import LiveTable, View
from balancer.model.certificates import Authority, ClientCertificate
from balancer.model.endpoints import Backend, BackendKey, EndpointTls
from balancer.model.handshakes import Handshake
from balancer.model.publication import Publication, RoutingModel
from balancer.model.zones import OwnZone, Zone, ZoneFacts
from balancer.picking.members import label_of
from tests import builders as build
from tests.matches import route_for
from tests.properties import examples
from tests.unit.balancer import strategies

CART, PAY = BackendKey("shop/cart:80"), BackendKey("shop/pay:80")


def live_with(model: RoutingModel) -> LiveTable:
    live = LiveTable(lambda _: 0)
    live.swap(build.publication(1, model))
    return live


def labels(live: LiveTable, model: RoutingModel) -> list[str]:
    """The labels of the members that leave when `model` comes."""
    return [member.label for member in live.swap(build.publication(live.view.generation + 1, model))]


def test_before_the_first_publication_nothing_is_served() -> None:
    view = LiveTable(lambda _: 0).view
    assert (view.generation, view.own_zone, dict(view.backends)) == (0, OwnZone(), {})
    assert view.configurations["http"].match(b"shop.test", b"/") is None


def test_a_view_is_one_publication() -> None:
    model = build.model(build.backend(of=build.endpoints("ab")), hosts=[build.host("shop.test", build.route("/"))])
    view = live_with(model).view
    assert (view.generation, view.model, view.own_zone) == (1, model, build.own_zone("zone-a"))
    route = route_for(view.configurations["http"], b"shop.test", b"/")
    assert route is not None and route.main.backend is not None
    assert view.backends[route.main.backend].backend == model.backends[0]


def test_a_view_knows_which_routes_have_endpoints() -> None:
    leaving = build.endpoint(ready=False, serving_terminating=True)
    model = build.model(
        build.backend("shop/cart:80", build.endpoints("a")),
        build.backend("shop/pay:80", [leaving]),
        build.backend("shop/none:80", [build.endpoint(ready=False)]),
    )
    view = live_with(model).view
    told = {to: view.has_endpoints(BackendKey(to)) for to in ("shop/cart:80", "shop/pay:80", "shop/none:80")}
    assert told == {"shop/cart:80": True, "shop/pay:80": True, "shop/none:80": False}
    assert not view.has_endpoints(None)
    assert not view.has_endpoints(BackendKey("shop/gone:80"))


def test_a_view_that_a_request_holds_stays_as_it_was() -> None:
    live = live_with(build.model(build.backend(of=build.endpoints("a")), hosts=[build.host("a.test", build.route())]))
    held = live.view
    live.swap(build.publication(2, build.model()))
    assert held.generation == 1
    assert held.configurations["http"].match(b"a.test", b"/") is not None
    assert held.backends[CART].balancer().pick() is not None
    assert live.view.configurations["http"].match(b"a.test", b"/") is None


def test_a_change_of_endpoints_keeps_the_compiled_routes_and_every_other_backend() -> None:
    hosts = [build.host("shop.test", build.route())]
    pay = build.backend("shop/pay:80", build.endpoints("ab"))
    live = live_with(build.model(build.backend(of=build.endpoints("ab")), pay, hosts=hosts))
    before = live.view
    live.swap(build.publication(2, build.model(build.backend(of=build.endpoints("abb")), pay, hosts=hosts)))
    assert live.view.configurations["http"] is before.configurations["http"]
    assert live.view.backends[PAY] is before.backends[PAY]
    assert live.view.backends[CART] is not before.backends[CART]


def calls_of_a_swap(count: int) -> int:
    """How many functions of `balancer` a swap calls that changes one of `count` backends.

    Other calls are not counted, because a search for garbage may begin at any time and calls what hypothesis
    registered for it.
    """
    staying = [build.backend(f"shop/cart{number}:80", build.endpoints("ab")) for number in range(count)]
    hosts = tuple(build.host(f"{number}.test", build.route()) for number in range(count))
    live = live_with(build.model(*staying, build.backend(of=build.endpoints("ab")), hosts=hosts))
    later = build.model(*staying, build.backend(of=build.endpoints("abb")), hosts=hosts)
    calls = 0

    def note(frame: FrameType, event: str, _arg: object) -> None:
        nonlocal calls
        calls += event == "call" and frame.f_globals.get("__name__", "").startswith("balancer.")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        live.swap(build.publication(2, later))
    finally:
        sys.setprofile(before)
    return calls


def test_a_swap_costs_what_has_changed_however_much_there_is() -> None:
    assert 0 < calls_of_a_swap(300) <= calls_of_a_swap(3)


def test_changed_hosts_are_compiled_anew() -> None:
    live = live_with(build.model(hosts=[build.host("shop.test", build.route())]))
    live.swap(build.publication(2, build.model(hosts=[build.host("shop.test", build.route("/new"))])))
    assert live.view.configurations["http"].match(b"shop.test", b"/old") is None
    assert live.view.configurations["http"].match(b"shop.test", b"/new") is not None


def test_a_changed_default_route_is_compiled_anew() -> None:
    live = live_with(build.model())
    live.swap(build.publication(2, build.model(default_route=build.route())))
    assert live.view.configurations["http"].match(b"shop.test", b"/") is not None


def test_a_new_own_zone_reaches_every_backend() -> None:
    backend = build.backend(of=build.endpoints("ab"), zone_policy=build.PREFER_ZONE)
    live = live_with(build.model(backend, zone="zone-a"))
    live.swap(build.publication(2, build.model(backend, zone="zone-b")))
    pick = live.view.backends[CART].balancer().pick()
    assert live.view.own_zone == build.own_zone("zone-b")
    assert pick is not None and pick.to_zone == "zone-b"


def drained(generation: int, *zones: str) -> Publication:
    """A backend in zones b and c, with those zones drained over 30 seconds."""
    backend = build.backend(of=build.endpoints("bc"), zone_policy=build.PREFER_ZONE)
    facts = ZoneFacts(drained=tuple(map(Zone, zones)), drain_ramp_seconds=30.0)
    return build.publication(generation, msgspec.structs.replace(build.model(backend), zones=facts))


def shares(live: LiveTable, now: float) -> Counter[str]:
    balancers = (live.view.backends[CART].balancer(None, now) for _ in range(1000))
    return Counter(pick.to_zone for pick in (balancer.pick((), now) for balancer in balancers) if pick is not None)


def test_facts_about_zones_reach_every_backend() -> None:
    live = LiveTable(random.Random(1).randrange)
    live.swap(drained(1))
    before = live.view.backends[CART]
    live.swap(drained(2))
    assert live.view.backends[CART] is before
    live.swap(drained(3, "zone-b"))
    assert live.view.backends[CART] is not before


def test_a_drain_is_ramped_from_when_it_is_first_seen_whatever_else_changes() -> None:
    live = LiveTable(random.Random(1).randrange)
    live.swap(drained(1), 0.0)
    live.swap(drained(2, "zone-b"), 100.0)
    assert shares(live, 100.0)["zone-b"] == 500
    live.swap(drained(3, "zone-b"), 120.0)
    assert 0 < shares(live, 120.0)["zone-b"] < 300
    assert shares(live, 130.0) == {"zone-c": 1000}


def test_a_backend_that_comes_during_a_ramp_joins_it() -> None:
    live = LiveTable(random.Random(1).randrange)
    live.swap(build.publication(1, build.model()), 0.0)
    without = msgspec.structs.replace(drained(2, "zone-b").model, backends=())
    live.swap(build.publication(2, without), 100.0)
    live.swap(drained(3, "zone-b"), 115.0)
    assert 150 < shares(live, 115.0)["zone-b"] < 350


def test_a_table_that_starts_into_a_drain_has_nothing_to_ramp() -> None:
    live = LiveTable(random.Random(1).randrange)
    live.swap(drained(1, "zone-b"), 100.0)
    assert shares(live, 100.0) == {"zone-c": 1000}


def secured(roots: bytes, shown: bytes = b"chain") -> RoutingModel:
    """`CART` verifies its endpoints by `shop/ca`, whose content is `roots`. `PAY` is without TLS."""
    tls = EndpointTls(verify=True, authority="shop/ca", client_certificate="shop/ca")
    return msgspec.structs.replace(
        build.model(
            msgspec.structs.replace(build.backend("shop/cart:80", build.endpoints("ab")), tls=tls),
            build.backend("shop/pay:80", build.endpoints("ab")),
        ),
        authorities=(Authority("shop/ca", roots),),
        client_certificates=(ClientCertificate("shop/ca", shown, b"key"),),
    )


@pytest.mark.parametrize("renewed", [secured(b"new roots"), secured(b"roots", b"new chain")])
def test_a_renewed_secret_changes_the_handshake_although_the_backend_stays(renewed: RoutingModel) -> None:
    first = secured(b"roots")
    live = live_with(first)
    before = live.view
    assert before.backends[CART].handshake == Handshake(True, None, b"roots", b"chain", b"key")
    assert before.backends[PAY].handshake is None
    model = msgspec.structs.replace(renewed, backends=first.backends)
    assert live.swap(build.publication(2, model)) == ()
    after, held = live.view.backends[CART], before.backends[CART]
    (authority,), (shown,) = model.authorities, model.client_certificates
    assert after.handshake == Handshake(True, None, authority.ca_pem, shown.chain_pem, b"key")
    assert after.members == held.members
    assert held.handshake == Handshake(True, None, b"roots", b"chain", b"key")
    assert live.view.backends[PAY] is before.backends[PAY]


def test_an_equal_secret_keeps_the_runtime_and_a_later_change_of_endpoints_keeps_the_handshake() -> None:
    live = live_with(secured(b"roots"))
    before = live.view.backends[CART]
    live.swap(build.publication(2, secured(b"roots")))
    assert live.view.backends[CART] is before
    cart, pay = secured(b"roots").backends
    fewer = msgspec.structs.replace(cart, endpoints=cart.endpoints[:1])
    live.swap(build.publication(3, msgspec.structs.replace(live.view.model, backends=(fewer, pay))))
    assert live.view.backends[CART] is not before
    assert live.view.backends[CART].handshake == before.handshake


def test_members_that_left_are_given_back() -> None:
    live = live_with(build.model(build.backend(of=build.endpoints("aab"))))
    assert labels(live, build.model(build.backend(of=build.endpoints("a")))) == ["10.0.0.2:80", "10.0.0.3:80"]


def test_an_endpoint_that_is_no_longer_ready_has_not_left() -> None:
    live = live_with(build.model(build.backend(of=[build.endpoint()])))
    assert labels(live, build.model(build.backend(of=[build.endpoint(ready=False)]))) == []


def test_all_members_of_a_backend_that_is_gone_have_left() -> None:
    live = live_with(build.model(build.backend(of=build.endpoints("ab"))))
    assert labels(live, build.model()) == ["10.0.0.1:80", "10.0.0.2:80"]


def test_an_address_that_moves_to_another_backend_is_another_member() -> None:
    pod = build.endpoint("10.0.0.1")
    live = live_with(build.model(build.backend("shop/cart:80", [pod])))
    before = live.view.backends[CART].members["10.0.0.1:80"]
    departed = live.swap(build.publication(2, build.model(build.backend("shop/pay:80", [pod]))))
    assert departed == (before,)
    assert live.view.backends[PAY].members["10.0.0.1:80"] is not before


def test_an_address_in_two_backends_is_a_member_of_each() -> None:
    pod = build.endpoint("10.0.0.1")
    live = live_with(build.model(build.backend("shop/cart:80", [pod]), build.backend("shop/pay:80", [pod])))
    members = [runtime.members["10.0.0.1:80"] for runtime in live.view.backends.values()]
    assert members[0] is not members[1]


def test_an_address_that_left_and_came_back_is_another_member() -> None:
    model = build.model(build.backend(of=[build.endpoint()]))
    live = live_with(model)
    before = live.view.backends[CART].members["10.0.0.1:80"]
    live.swap(build.publication(2, build.model(build.backend())))
    live.swap(build.publication(3, model))
    assert live.view.backends[CART].members["10.0.0.1:80"] is not before


models = st.builds(
    lambda of, own_zone: RoutingModel(backends=of, own_zone=own_zone),
    st.one_of(
        st.tuples(strategies.backends("shop/cart:80"), strategies.backends("shop/pay:80")),
        st.tuples(strategies.backends("shop/cart:80")),
        st.tuples(strategies.backends("shop/pay:80")),
        st.just(()),
    ),
    strategies.own_zones,
)


def check_picks(view: View, backend: Backend) -> None:
    for _ in range(3):
        pick = view.backends[backend.key].balancer().pick()
        assert pick is None or pick.endpoint in backend.endpoints


@examples(60)
@given(st.lists(models, min_size=2, max_size=4), st.randoms(use_true_random=False))
def test_a_pick_is_always_an_endpoint_that_the_view_in_use_holds(models: list[RoutingModel], chance: object) -> None:
    """Every view is still in use by some request while the later ones come."""
    live = LiveTable(chance.randrange)  # type: ignore[attr-defined]
    views: list[View] = []
    for generation, model in enumerate(models, start=1):
        live.swap(build.publication(generation, model))
        views.append(live.view)
        for view in views:
            for backend in view.model.backends:
                check_picks(view, backend)


@examples(60)
@given(st.lists(models, min_size=2, max_size=4))
def test_what_is_given_back_is_what_no_backend_of_the_new_view_holds(models: list[RoutingModel]) -> None:
    live = LiveTable(lambda _: 0)
    for generation, model in enumerate(models, start=1):
        held = {member for runtime in live.view.backends.values() for member in runtime.members.values()}
        departed = live.swap(build.publication(generation, model))
        holds = {member for runtime in live.view.backends.values() for member in runtime.members.values()}
        assert len(set(departed)) == len(departed)
        assert set(departed) == held - holds
        for backend in model.backends:
            assert set(live.view.backends[backend.key].members) == set(map(label_of, backend.endpoints))
