"""Which backends have routes under another zone policy than their own, and whose routes those are."""

from __future__ import annotations

import random

import msgspec

from balancer.matching.steering import NO_STEERING, Steering, named, steering
from balancer.model.endpoints import BackendKey
from balancer.model.publication import RoutingModel
from balancer.model.relays import RelayRoute
from balancer.model.routes import Host
from balancer.model.stand_ins import ErrorPages, StandIns
from balancer.model.zones import ZoneEvacuation, ZonePolicy, ZonePolicyName
from balancer.runtime.steps import finished
from tests import builders as build

STAYS = ZonePolicy(ZonePolicyName.PREFER_ZONE, asked_evacuation=ZoneEvacuation.OFF)
CART, PAY = BackendKey("shop/cart:80"), BackendKey("shop/pay:80")
EMPTY = RoutingModel()


def of(model: RoutingModel, before: RoutingModel = EMPTY, known: Steering = NO_STEERING) -> Steering:
    return finished(steering(model, before, known))


def host(name: str, ingress: str = "web", policy: ZonePolicy | None = None, to: str = CART) -> Host:
    return build.host(f"{name}.test", build.route(to=to, ingress=ingress, zone_policy=policy))


def test_nothing_is_kept_while_every_route_has_the_policy_of_its_backend() -> None:
    assert of(build.model(hosts=[host("a"), host("b")])) is NO_STEERING


def test_of_a_backend_with_another_policy_all_routes_count_and_of_others_none() -> None:
    found = of(build.model(hosts=[host("a", "open"), host("b", "strict", STAYS), host("c", to=PAY)]))
    assert found == {CART: {None: (build.owner("open"),), STAYS: (build.owner("strict"),)}}


def test_an_owner_of_many_routes_is_there_once() -> None:
    found = of(build.model(hosts=[host("a", "strict", STAYS), host("b", "strict", STAYS)]))
    assert found == {CART: {STAYS: (build.owner("strict"),)}}


def test_default_routes_stand_ins_and_relays_lead_to_backends_too() -> None:
    route = build.route(ingress="stood-for", to=PAY)
    standing = msgspec.structs.replace(
        route, stand_ins=StandIns(without_endpoints=CART, error_pages=ErrorPages((503,), PAY))
    )
    relay = RelayRoute("db.test", build.owner("relay"), (build.branch(owner=build.owner("relay"), zone_policy=STAYS),))
    default = build.route(to=CART, ingress="default")
    model = build.model(hosts=[build.host("a.test", standing)], default_route=default)
    model = msgspec.structs.replace(model, relays=(relay,))
    assert of(model)[CART] == {
        None: (build.owner("default"), build.owner("stood-for")),
        STAYS: (build.owner("relay"),),
    }


def test_a_change_that_concerns_no_such_backend_keeps_what_is_known() -> None:
    strict, other = host("b", "strict", STAYS), host("c", to=PAY)
    before = build.model(hosts=[strict, other])
    known = of(before)
    after = build.model(hosts=[strict, host("c", "later", to=PAY)])
    assert of(after, before, known) is known


def test_after_any_changes_the_same_is_known_as_from_the_beginning() -> None:
    luck, known, before = random.Random(1), NO_STEERING, EMPTY
    hosts = [host(str(number)) for number in range(6)]
    seen = set[int]()
    for _ in range(300):
        place = luck.randrange(len(hosts))
        policy, to = luck.choice([None, None, STAYS]), luck.choice([CART, PAY])
        hosts[place] = host(str(place), luck.choice("xy"), policy, to)
        model = build.model(hosts=hosts[: luck.choice([5, 6, 6, 6])])
        known, before = of(model, before, known), model
        assert known == of(model)
        seen.add(len(known))
    assert seen == {0, 1, 2}


def test_a_step_looks_at_few_routes() -> None:
    model = build.model(hosts=[host(f"{number:04d}", "strict", STAYS) for number in range(1000)])
    assert sum(1 for _ in steering(model, EMPTY, NO_STEERING)) >= 20


def test_some_owners_are_named() -> None:
    def names(*some: str) -> str:
        return named(build.owner(each) for each in some)

    assert (names(), names("a"), names("a", "b")) == ("", "Ingress shop/a", "Ingress shop/a, Ingress shop/b")
    assert names(*"abcde") == "Ingress shop/a, Ingress shop/b, Ingress shop/c and 2 more"
    assert named([build.owner("")]) == "the default route"
