"""Routes of a moved Ingress stay within the bounds of Gateway API."""

from __future__ import annotations

from typing import Any

from ingress.migration.gateway.gateways import Doorway
from ingress.migration.gateway.moves import HostRules, MovedIngress, Rule
from ingress.migration.gateway.routes import route_documents

DOORWAY = Doorway(("zonal", "gw"))


def rule(path: str, service: str = "web", **more: Any) -> Rule:
    match = {"path": {"type": "PathPrefix", "value": path}}
    return Rule(match, {"backendRefs": [{"name": service, "port": 80}]}, **more)


def documents(*hosts: HostRules, secure: tuple[str, ...] = (), **more: Any) -> list[dict[str, Any]]:
    moved = MovedIngress("shop", "cart", hosts, **more)
    said = {"labels": {"a": "b"}, "annotations": {"x": "y"}}
    return route_documents(moved, DOORWAY, said, certified=secure.__contains__)


def test_hosts_with_the_same_rules_share_a_route() -> None:
    (route,) = documents(HostRules("a.test", (rule("/"),)), HostRules("b.test", (rule("/"),)))
    assert route["spec"]["hostnames"] == ["a.test", "b.test"]
    assert [each["sectionName"] for each in route["spec"]["parentRefs"]] == ["http-a.test", "http-b.test"]
    assert route["metadata"]["annotations"] == {"x": "y"}


def test_neighbours_that_differ_in_their_match_only_are_one_rule() -> None:
    (route,) = documents(HostRules("a.test", (rule("/a"), rule("/b"), rule("/c", "other"))))
    assert [len(each["matches"]) for each in route["spec"]["rules"]] == [2, 1]


def test_a_redirect_to_https_is_a_route_of_its_own() -> None:
    served, redirecting = documents(
        HostRules("a.test", (rule("/", redirected={"type": "PathPrefix", "value": "/"}),)), secure=("a.test",)
    )
    assert [each["sectionName"] for each in served["spec"]["parentRefs"]] == ["https-a.test"]
    assert redirecting["metadata"] == {"name": "cart-to-https", "namespace": "shop", "labels": {"a": "b"}}
    assert redirecting["spec"]["rules"][0]["filters"][0]["requestRedirect"]["scheme"] == "https"


def test_more_rules_than_a_route_takes_are_several_routes() -> None:
    rules = tuple(rule(f"/{number}", f"s{number}") for number in range(40))
    found = documents(HostRules("a.test", rules))
    assert [each["metadata"]["name"] for each in found] == ["cart", "cart-2", "cart-3"]
    assert [len(each["spec"]["rules"]) for each in found] == [16, 16, 8]


def test_calls_are_a_grpc_route() -> None:
    call = Rule({"method": {"service": "shop.Cart"}}, {"backendRefs": []}, is_grpc=True)
    http, grpc = documents(HostRules("a.test", (call, rule("/"))))
    assert (http["kind"], grpc["kind"]) == ("HTTPRoute", "GRPCRoute")


def test_another_name_redirects() -> None:
    _, other = documents(HostRules("a.test", (rule("/"),)), other_names={"www.a.test": "a.test"})
    assert other["spec"]["hostnames"] == ["www.a.test"]
    assert other["spec"]["rules"][0]["filters"][0]["requestRedirect"]["hostname"] == "a.test"
