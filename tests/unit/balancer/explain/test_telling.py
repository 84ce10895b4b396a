"""Explanations in words: each fact is said, in its place, and nothing that keeps a canary from the public."""

from __future__ import annotations

import msgspec
import pytest

from balancer.explain.drafts import complete
from balancer.explain.explaining import explain
from balancer.explain.telling import load_steps, own_zone_step, policy_text, rollout_steps, sick_steps, traffic_steps
from balancer.live import View
from balancer.matching.affinity import mark_of
from balancer.model.certificates import Authority, ClientCertificate
from balancer.model.endpoints import BackendKey, EndpointTls, LoadBalancing
from balancer.model.policies import Affinity
from balancer.model.route_configurations import RouteConfiguration
from balancer.model.routes import Canary
from balancer.model.zones import FleetUse, OwnZone, Zone, ZoneEvacuation, ZoneFacts, ZonePolicy, ZonePolicyName
from balancer.zones.verdicts import Surroundings
from tests import builders as build
from tests.questions import question_of
from tests.unit.balancer.asked import CART, NEXT, Told, eject, explained, shop, view_of, with_canary


def steps(view: View, *fields: str, now: float = 0.0, live: bool = True) -> str:
    return "\n".join(explained(view, *fields, now=now, live=live).steps)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        (["X-Try: always"], "its header or cookie takes the request"),
        (["X-Try: never"], "its header or cookie refuses the request"),
        ([], "neither header nor cookie decides, so its weight counts"),
    ],
)
def test_a_canary_is_told_with_its_rules_and_what_they_say(fields: list[str], words: str) -> None:
    told = steps(shop(with_canary(7)), *fields)
    assert f"Canary shop/trial (Service next, header X-Try, weight 7 of 100): {words}." in told


def test_the_values_that_lead_to_a_canary_are_not_told() -> None:
    rules = Canary(header="X-Try", header_value="s3cret", header_pattern="p4ttern")
    route = build.route(canaries=(build.canary(NEXT, rules=rules),))
    for fields in ([], ["X-Try: s3cret"], ["X-Try: other"]):
        told = msgspec.json.encode(explained(shop(route), *fields)).decode()
        assert "s3cret" not in told
        assert "p4ttern" not in told


def test_keys_and_secrets_are_never_told() -> None:
    pem = b"-----BEGIN CERTIFICATE-----"
    tls = EndpointTls(verify=True, authority="shop/ca", client_certificate="shop/ca")
    cart = msgspec.structs.replace(build.backend(of=build.endpoints("ab")), tls=tls)
    model = msgspec.structs.replace(
        build.model(cart, hosts=[build.host("shop.test", build.route())]),
        authorities=(Authority("shop/ca", pem),),
        client_certificates=(ClientCertificate("shop/ca", pem, pem),),
    )
    view = view_of(model)
    assert b"BEGIN" not in msgspec.json.encode(explained(view))


def test_a_backend_is_told_by_its_service_port_however_its_endpoints_are_spoken_to() -> None:
    key = BackendKey("https(,,)#shop/cart:80")
    cart = msgspec.structs.replace(build.backend(of=build.endpoints("ab")), key=key, tls=EndpointTls())
    route = build.route(to=key)
    told = explained(view_of(build.model(cart, hosts=[build.host("shop.test", route)]))).steps
    assert any("Backend shop/cart:80 has 2 ready endpoints" in step for step in told)
    assert not any("HTTP/2" in step for step in told)


def test_http2_to_endpoints_is_told() -> None:
    cart = msgspec.structs.replace(build.backend(of=build.endpoints("ab")), http2=True)
    told = explained(view_of(build.model(cart, hosts=[build.host("shop.test", build.route())]))).steps
    assert "Its endpoints are spoken to in HTTP/2." in told


def test_a_main_backend_without_endpoints_has_no_canaries_either() -> None:
    told = steps(shop(with_canary(100), cart=""), "X-Try: always")
    assert "The main backend has no endpoints, so its canaries get no requests either." in told


def test_affinity_is_told() -> None:
    view = shop(build.route(affinity=Affinity()))
    cookie = f"Cookie: INGRESSCOOKIE=key|{mark_of(CART).decode()}"
    assert "Affinity: the request has no cookie INGRESSCOOKIE of this backend, so the client is new" in steps(view)
    assert "Affinity: the cookie INGRESSCOOKIE holds the client to 10.0.0." in steps(view, cookie)
    persistent = shop(build.route(affinity=Affinity(persistent=True)))
    assert "Affinity: the endpoint of the cookie INGRESSCOOKIE is gone or unavailable" in steps(persistent, cookie)


def test_a_pin_to_the_main_backend_is_told() -> None:
    view = shop(with_canary(affinity=Affinity()))
    told = steps(view, f"Cookie: INGRESSCOOKIE=key|{mark_of(CART).decode()}", "X-Try: always")
    assert "The affinity cookie holds the client to Service shop/cart, whatever the rules say." in told


def test_a_hash_is_told() -> None:
    view = shop(build.route(hash_by="$arg_x"))
    assert "upstream-hash-by $arg_x leads to no endpoint, so the balancer decides." in steps(view)
    question = question_of("http://shop.test/?x=1")
    told = complete(explain(question, view, now=0.0, live=False), Told())
    assert any(step.startswith("upstream-hash-by $arg_x leads to 10.0.0.") for step in told.steps)
    by_client = shop(build.route(hash_by="$remote_addr"))
    told = complete(explain(question, by_client, now=0.0, live=False), Told())
    assert any("depends on the client's address, which is unknown here" in step for step in told.steps)


def test_conditions_of_endpoints_are_told() -> None:
    endpoints = (
        msgspec.structs.replace(
            build.endpoint("10.0.0.1", zone="zone-a"),
            node="node-1",
            hint_zones=(Zone("zone-b"),),
            hint_nodes=("node-2",),
            labels=(("topology.kubernetes.io/region", "here"),),
        ),
        build.endpoint("10.0.0.2", ready=False, serving_terminating=True),
        build.endpoint("10.0.0.3", zone="zone-c"),
    )
    content = build.model(build.backend(of=endpoints), hosts=[build.host("shop.test", build.route())])
    view = view_of(msgspec.structs.replace(content, zones=ZoneFacts(drained=(Zone("zone-c"),))))
    assert {each.endpoint: each.state for each in explained(view).endpoints if ":" in each.endpoint} == {
        "10.0.0.1:80": "ready, hinted for zone-b, hinted for nodes node-2, topology.kubernetes.io/region=here",
        "10.0.0.2:80": "terminating, still serving",
        "10.0.0.3:80": "ready, in a drained zone",
    }
    told = steps(view)
    assert "Backend shop/cart:80 has 2 ready endpoints: 1 in zone-a, 1 in zone-c (drained)." in told
    assert "Terminating but still serving: 1 in an unknown zone." in told
    assert "In drained zones, so used only if nothing else is left: 10.0.0.3:80." in told


def test_health_is_told_only_while_serving() -> None:
    view = shop()
    eject(view, "10.0.0.1:80")
    view.backends[CART].health.checked(view.backends[CART].members["10.0.0.3:80"].health, passed=False, threshold=1)
    told = steps(view, now=1.0)
    assert "Endpoint 10.0.0.1:80: ejected for 9.0 s more because it failed too often in a row." in told
    assert "Endpoint 10.0.0.3:80: fails its health checks." in told
    told = steps(view, now=11.0)
    assert "Endpoint 10.0.0.1:80: ejected because it failed too often in a row; the next request tries it." in told
    assert "The next request goes to 10.0.0.1:80, to probe whether it is healthy again." in told
    assert "ejected" not in steps(view, now=1.0, live=False)


def test_load_is_told() -> None:
    backend = msgspec.structs.replace(
        build.backend(of=build.endpoints("ab")),
        max_concurrency_per_endpoint=1,
        max_concurrency=2,
        load_balancing=LoadBalancing.LEAST_REQUEST,
    )
    view = view_of(build.model(backend, hosts=[build.host("shop.test", build.route())]))
    assert "Under least_request the less busy of two endpoints gets the request, so shares follow the load." in steps(
        view
    )
    for member in view.backends[CART].members.values():
        member.in_flight = 1
    view.backends[CART].load.in_flight = 2
    told = steps(view)
    assert "Endpoint 10.0.0.1:80: full with 1 request." in told
    assert "The backend has reached max-concurrency, so the answer is 503 now." in told
    assert "Every endpoint has reached max-concurrency-per-endpoint, so the answer is 503." in told


def test_of_many_endpoints_some_are_named() -> None:
    view = shop(cart="a" * 60)
    for member in view.backends[CART].members.values():
        view.backends[CART].health.checked(member.health, passed=False, threshold=1)
    told = steps(view)
    assert "10 more endpoints are unhealthy or full." in told
    assert " and 10 more." in told


def test_where_the_own_zone_comes_from_is_told() -> None:
    assert own_zone_step(OwnZone(Zone("zone-a"), "node")) == "This replica is in zone-a (from the label of its Node)."
    assert own_zone_step(OwnZone()) == "This replica does not know its own zone."


def test_a_policy_is_told_with_what_limits_it() -> None:
    policy = ZonePolicy(ZonePolicyName.ORDERED, keys=("a/b", "*"), rollout_percent=30, dry_run=True)
    assert policy_text(policy, ()) == "ordered: a/b, *"
    assert rollout_steps(policy, ZoneFacts(drained=(Zone("zone-b"),), drain_ramp_seconds=1.5)) == [
        "Rollout: 30 % of the requests get the policy, the others go to every zone.",
        "Dry run: the policy is only computed and counted, and requests go as under off.",
        "The operator drains zone-b, over 1.5 s.",
    ]
    at_once = ZoneFacts(drained=(Zone("zone-b"),), drain_ramp_seconds=0.0)
    assert rollout_steps(ZonePolicy(ZonePolicyName.OFF), at_once) == ["The operator drains zone-b, at once."]


def test_where_every_endpoint_has_hints_auto_is_told_as_hints() -> None:
    auto = ZonePolicy(ZonePolicyName.PREFER_ZONE, heeds_hints=True)
    hinted = build.endpoint("10.0.0.1", zone="zone-a", hint_zones=(Zone("zone-a"),))
    assert policy_text(auto, (hinted,)) == "hints"
    assert policy_text(auto, (hinted, build.endpoint("10.0.0.2", zone="zone-a"))) == "prefer-zone"


def test_shares_of_the_requests_are_told_one_by_one() -> None:
    told = steps(shop(policy=ZonePolicy(ZonePolicyName.PREFER_ZONE, rollout_percent=30)))
    assert "30 % of the requests: Mode zonal, reason zone_local: The endpoint is in the own zone." in told
    assert "70 % of the requests: Mode general, reason rollout_excluded:" in told


def test_a_zone_that_is_left_is_told_with_its_figures() -> None:
    stays = ZonePolicy(ZonePolicyName.PREFER_ZONE, asked_evacuation=ZoneEvacuation.OFF)
    view = view_of(
        build.model(
            build.backend(of=build.endpoints("ab"), zone_policy=build.PREFER_ZONE),
            hosts=[build.host("shop.test", build.route(), build.route("/strict", ingress="strict", zone_policy=stays))],
        )
    )
    runtime = view.backends[CART]
    runtime.balancer()
    assert "Zone zone-a fails" not in steps(view)
    for number in range(400):
        now = number / 100
        if not number % 10:
            runtime.evacuation.ended("zone-b", failed=False, seconds=0.01, now=now)
        runtime.evacuation.ended("zone-a", failed=True, seconds=0.01, now=now)
    told = steps(view, now=4.0)
    assert "Zone zone-a fails: 97 % of the requests avoid it (leaving for " in told
    assert "of its answers failed, of other zones 0 of " in told
    assert "spill_errors" in told
    assert "This request stays" not in told
    assert "Zone zone-a fails" not in steps(view, live=False)
    strict = "\n".join(explained(view, url="http://shop.test/strict", now=4.0, live=True).steps)
    assert "Zone zone-a fails: 97 % of the requests avoid it (leaving for " in strict
    assert "This request stays: its zone policy leaves no zone." in strict


def test_a_strict_list_without_a_match_is_told() -> None:
    policy = ZonePolicy(ZonePolicyName.ORDERED, keys=("topology.kubernetes.io/zone",))
    told = steps(shop(cart="b", policy=policy))
    assert "The ordered list is strict and no endpoint matches, so the answer is 503." in told


def test_a_load_that_differs_from_the_average_is_told() -> None:
    here = Surroundings(OwnZone(Zone("zone-a")))
    [step] = load_steps(build.endpoints("abbbbbcccccc"), here, build.PREFER_ZONE)
    assert step.startswith("Expected load: an endpoint in zone-a gets 4.0 times the average, if every replica")
    assert load_steps(build.endpoints("abc"), here, build.PREFER_ZONE) == []
    assert load_steps(build.endpoints("bc"), here, build.PREFER_ZONE) == []


def test_where_requests_come_in_is_told_under_the_policy_that_asks_that() -> None:
    facts = ZoneFacts(traffic=(("shop/cart", ((Zone("zone-a"), 9000), (Zone("zone-b"), 1000))),))
    proportional = ZonePolicy(ZonePolicyName.PROPORTIONAL)
    (told,) = traffic_steps(facts, proportional, "shop/cart")
    assert told == "Replicas tell each other where requests come in: 90 % at zone-a, 10 % at zone-b."
    assert traffic_steps(facts, ZonePolicy(ZonePolicyName.PREFER_ZONE), "shop/cart") == []
    assert traffic_steps(facts, proportional, "shop/pay") == []
    (dry,) = traffic_steps(msgspec.structs.replace(facts, fleet=FleetUse.DRY_RUN), proportional, "shop/cart")
    assert dry.endswith("decides nothing.")


def test_zones_that_are_sick_for_the_fleet_are_said_where_requests_may_leave_them() -> None:
    facts = ZoneFacts(sick=(Zone("zone-b"),))
    (told,) = sick_steps(facts, ZonePolicy(ZonePolicyName.PREFER_ZONE))
    assert "zone-b is sick" in told
    assert sick_steps(facts, ZonePolicy(ZonePolicyName.HINTS)) == []
    assert sick_steps(ZoneFacts(), ZonePolicy(ZonePolicyName.PREFER_ZONE)) == []


def test_a_handshake_for_which_there_is_no_certificate_is_said_to_be_refused() -> None:
    model = msgspec.structs.replace(shop().model, route_configurations=(RouteConfiguration(has_fallback=False),))
    said = "TLS: no listener has a certificate for the name, so the handshake is refused."
    assert said in explained(view_of(model), url="https://other.test/").steps
    assert said not in explained(view_of(model), url="http://other.test/").steps
    assert said not in explained(shop(), url="https://other.test/").steps
