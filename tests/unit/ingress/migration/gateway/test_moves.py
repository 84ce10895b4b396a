"""One Ingress becomes rules, and each annotation has a verdict; what protects and has no form is not written."""

from __future__ import annotations

from typing import Any

from ingress.migration.gateway.backends import ServicePorts, TlsPolicies
from ingress.migration.gateway.moves import Move, MoveContext, MovedCanary, MovedIngress, move, redirecting
from ingress.objects.converting import decode
from ingress.objects.kinds import Ingress, IngressBackend, ServicePortReference, ServiceReference
from ingress.settings.table.canaries import CanaryRules
from tests.unit.ingress.cluster import inventory
from tests.unit.ingress.migration.dumped import nginx

CLUSTER = {"ports": ServicePorts(inventory()), "policies": TlsPolicies(inventory())}


def moved(
    target: str = "/", closed: str = "", cluster: dict[str, Any] | None = None, **annotations: str
) -> MovedIngress:
    ingress = decode(nginx("cart", target, **annotations))
    assert isinstance(ingress, Ingress)
    return move(ingress, MoveContext(**{**CLUSTER, **(cluster or {})}), closed)


def rules(found: MovedIngress) -> list[Any]:
    return [{**({"match": each.match}), **each.rest} for host in found.hosts for each in host.rules]


def test_an_ingress_moves_with_its_backends() -> None:
    found = moved("/a")
    assert found.verdict is Move.MOVES
    assert rules(found) == [
        {"match": {"path": {"type": "PathPrefix", "value": "/a"}}, "backendRefs": [{"name": "cart", "port": 80}]}
    ]


def test_what_protects_and_has_no_form_is_not_written() -> None:
    found = moved(auth_type="basic", auth_secret="users")
    assert (found.verdict, found.hosts) == (Move.STAYS, ())
    assert found.withheld[0].startswith("auth-secret, auth-type have no form")
    assert moved(closed="it is closed").withheld == ("it is closed",)


def test_what_is_lost_and_protects_nothing_is_told() -> None:
    assert moved(proxy_cookie_path="/ /a").verdict is Move.DIFFERS


def test_a_path_of_another_ingress_is_left_out() -> None:
    found = moved("/a", cluster={"winners": {("shop.test", "/a"): "shop/other"}})
    assert rules(found) == []
    assert "Ingress shop/other has it" in found.remarks[0]


def test_a_path_that_answers_503_is_not_written() -> None:
    found = moved("/a", cluster={"closed": frozenset({("shop.test", "/a")})})
    assert found.verdict is Move.STAYS
    assert found.withheld == ("shop.test/a: the path answers 503: see zonal check.",)


def test_a_redirect_needs_a_certificate() -> None:
    place = ("shop.test", "/")
    found = moved(cluster={"redirected": frozenset({place})})
    assert found.verdict is Move.STAYS
    found = moved(cluster={"redirected": frozenset({place}), "certified": frozenset({"shop.test"})})
    (rule,) = found.hosts[0].rules
    assert rule.redirected == {"type": "PathPrefix", "value": "/"}
    (told,) = redirecting([rule, rule], 301)
    assert told.rest["filters"][0]["requestRedirect"] == {"scheme": "https", "statusCode": 301}


def canary(**said: Any) -> dict[str, Any]:
    backend = IngressBackend(ServiceReference("next", ServicePortReference(number=80)))
    return {"canaries": {("shop.test", "/"): MovedCanary(CanaryRules(True, **said), "shop", "next", backend)}}


def test_a_canary_becomes_weights_and_conditions() -> None:
    found = rules(moved(cluster=canary(weight=10, header="x-next")))
    assert [each["match"].get("headers", [{}])[0].get("value") for each in found] == ["always", "never", None]
    assert [[ref["name"] for ref in each["backendRefs"]] for each in found] == [["next"], ["cart"], ["cart", "next"]]
    assert [ref["weight"] for ref in found[2]["backendRefs"]] == [90, 10]
    found = rules(moved(cluster=canary(cookie="c")))
    assert found[0]["match"]["headers"][0]["type"] == "RegularExpression"
    found = rules(moved(cluster=canary(header="x", header_pattern="a.*")))
    assert found[0]["match"]["headers"][0] == {"type": "RegularExpression", "name": "x", "value": "(?s:.*)a.*(?s:.*)"}


def test_endpoints_over_tls_need_a_policy() -> None:
    found = moved(backend_protocol="HTTPS")
    assert found.verdict is Move.STAYS
    assert "BackendTLSPolicy" in found.withheld[0]


def test_calls_are_methods() -> None:
    found = moved("/shop.Cart", backend_protocol="GRPC")
    assert [each.is_grpc for each in found.hosts[0].rules] == [True]


def test_redirects_have_no_backend_and_an_app_root_stands_first() -> None:
    (found,) = rules(moved(permanent_redirect="https://new.test"))
    assert "backendRefs" not in found
    first, _ = rules(moved(app_root="/start"))
    assert first["match"]["path"] == {"type": "Exact", "value": "/"}


def test_further_names_are_told() -> None:
    found = moved(server_alias="b.test", from_to_www_redirect="true")
    assert found.aliases == ("b.test",)
    assert found.other_names == {"www.shop.test": "shop.test"}


def test_a_further_name_that_is_no_host_name_is_not_written() -> None:
    found = moved(server_alias="b.test, ~^shop[0-9]+[.]test$, *.c.test")
    assert found.aliases == ("b.test", "*.c.test")
    assert found.remarks == (
        "server-alias ~^shop[0-9]+[.]test$ is no host name: write the names that it matches one by one.",
    )
    assert found.verdict is Move.DIFFERS


def test_fields_of_a_config_map_need_the_config_map() -> None:
    assert moved(custom_headers="shop/fields").verdict is Move.STAYS
    found = moved(custom_headers="shop/fields", cluster={"config_maps": {("shop", "fields"): {"x-a": "1"}}})
    assert rules(found)[0]["filters"][0]["responseHeaderModifier"] == {"set": [{"name": "x-a", "value": "1"}]}
