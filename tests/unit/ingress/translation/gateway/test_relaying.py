"""From TLSRoutes and TCPRoutes to relay routes: names, the oldest first, where branches lead, and what is refused."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
import trustme

from balancer.errors import ErrorKind
from balancer.model.entry_points import Protocol
from balancer.model.relays import RelayRoute
from ingress.objects.kinds import ConfigMap, KubernetesObject, Metadata
from ingress.settings.context import TranslationContext
from ingress.translation.assembly import Translation, translate
from ingress.translation.gateway.relaying import relay_claims
from tests.unit.ingress.cluster import config_map, inventory, service, tls_secret
from tests.unit.ingress.translation.gateway.objects import gateway, gateway_class, grant, listener, policy, read

AUTHORITY = trustme.CA(key_type=trustme.KeyType.ECDSA)
LEAF = AUTHORITY.issue_cert("a.test", key_type=trustme.KeyType.ECDSA)
CERT = tls_secret("cert", LEAF.cert_chain_pems[0].bytes(), LEAF.private_key_pem.bytes(), namespace="infra")
CA = ConfigMap(Metadata("ca", "infra"), {"ca.crt": AUTHORITY.cert_pem.bytes().decode()})
PASS = listener("pass", 443, "TLS", tls={"mode": "Passthrough"})
END = listener("end", 443, "TLS", hostname="a.test", tls={"certificateRefs": [{"name": "cert"}]})
RAW = listener("raw", 9000, "TCP")
CONTEXT = TranslationContext(gateway_ports=((443, "18443"), (9000, "19000")))


def tls_route(name: str = "r", *hostnames: str, to: str = "web", **more: Any) -> Any:
    return stream("TLSRoute", name, to=to, hostnames=hostnames or ("a.test",), **more)


def stream(kind: str, name: str, *, to: str = "web", namespace: str = "infra", created: str = "", **more: Any) -> Any:
    rules = [{"backendRefs": [{"name": to, "namespace": namespace, "port": 80}]}]
    said = {"parentRefs": [{"name": "gw"}], "rules": rules, **more}
    return read(kind, name, created=created, **said)


def shown(*objects: KubernetesObject, settings: dict[str, str] | None = None) -> Translation:
    known = (gateway_class(), config_map(**(settings or {})), service("web", namespace="infra"))
    return translate(inventory(*known, *objects), CONTEXT)


def relays(*objects: KubernetesObject) -> tuple[RelayRoute, ...]:
    return shown(*objects).model.relays


def test_a_tls_route_has_a_relay_for_each_name_that_it_shares_with_a_listener() -> None:
    found = relays(gateway(PASS), tls_route("r", "a.test", "*.b.test"))
    assert [(each.name, each.listener, each.configuration, each.ends_tls) for each in found] == [
        ("*.b.test", "Gateway/infra/gw/pass", "gateway:443", False),
        ("a.test", "Gateway/infra/gw/pass", "gateway:443", False),
    ]
    (branch,) = found[0].branches
    assert (branch.backend, branch.owner.full_name) == ("infra/web:80", "infra/r")


def test_the_oldest_route_has_a_name() -> None:
    old = tls_route("z", created="2026-01-01T00:00:00Z")
    young = tls_route("a", "a.test", "b.test", created="2026-01-02T00:00:00Z")
    assert [(each.name, each.owner.name) for each in relays(gateway(PASS), young, old)] == [
        ("a.test", "z"),
        ("b.test", "a"),
    ]


def test_a_route_whose_hostname_says_more_of_a_name_has_it_though_it_is_younger() -> None:
    old = tls_route("z", "*.test", created="2026-01-01T00:00:00Z")
    young = tls_route("a", "a.test", created="2026-01-02T00:00:00Z")
    listening = gateway({**PASS, "hostname": "a.test"})
    assert [(each.name, each.owner.name) for each in relays(listening, young, old)] == [("a.test", "a")]


def test_a_tcp_route_has_every_name_of_a_listener_where_tls_ends() -> None:
    (relay,) = relays(gateway(END), CERT, stream("TCPRoute", "r"))
    assert (relay.name, relay.owner.kind, relay.ends_tls) == ("a.test", "TCPRoute", True)
    assert relays(gateway(PASS), stream("TCPRoute", "r")) == ()


def test_listeners_that_end_and_pass_tls_stand_beside_each_other() -> None:
    passing = {**PASS, "hostname": "b.test"}
    model = shown(gateway(passing, END), CERT, tls_route("r", "a.test", "b.test")).model
    assert [(each.name, each.ends_tls) for each in model.relays] == [("a.test", True), ("b.test", False)]
    assert [(each.protocol, each.key) for each in model.entry_points[:1]] == [(Protocol.TLS, "gateway:443")]
    assert [(each.hostname, each.only_relays, each.certificates) for each in model.listeners[:2]] == [
        ("a.test", True, ("infra/cert",)),
        ("b.test", True, ()),
    ]


def test_https_and_streams_may_share_a_port() -> None:
    https = listener("https", 443, "HTTPS", hostname="b.test", tls={"certificateRefs": [{"name": "cert"}]})
    passing = {**PASS, "hostname": "a.test"}
    for listeners in ((https, passing), (passing, https)):
        model = shown(gateway(*listeners), CERT, tls_route()).model
        assert [(each.protocol, each.key) for each in model.entry_points[:1]] == [(Protocol.HTTPS, "gateway:443")]
        assert [each.name for each in model.relays] == ["a.test"]


def test_a_tcp_route_takes_every_connection_and_has_an_entry_point_of_its_own() -> None:
    model = shown(gateway(RAW), stream("TCPRoute", "r")).model
    assert [each.name for each in model.relays] == [""]
    assert [(each.protocol, each.key, each.socket) for each in model.entry_points[:1]] == [
        (Protocol.TCP, "gateway:9000/tcp", "19000")
    ]


def test_a_service_without_a_grant_is_a_share_that_is_reset() -> None:
    rules = [{"backendRefs": [{"name": "web", "port": 80}, {"name": "db", "namespace": "shop", "port": 80}]}]
    route = stream("TCPRoute", "r", rules=rules)
    db = service("db", namespace="shop")
    (refused,) = relays(gateway(RAW), route, db)
    assert [each.backend for each in refused.branches] == ["infra/web:80", None]
    assert refused.branches[1].error is ErrorKind.BACKEND_INVALID
    (granted,) = relays(gateway(RAW), route, db, grant("TCPRoute"))
    assert [each.backend for each in granted.branches] == ["infra/web:80", "shop/db:80"]


@pytest.mark.parametrize("backends", [[], [{"name": "web", "port": 80, "weight": 0}], [{"name": "nope", "port": 80}]])
def test_a_route_that_leads_nowhere_has_a_branch_that_is_reset(backends: list[Any]) -> None:
    (found,) = relays(gateway(RAW), stream("TCPRoute", "r", rules=[{"backendRefs": backends}]))
    assert [(each.backend, each.error) for each in found.branches] == [(None, ErrorKind.BACKEND_INVALID)]


def test_a_policy_counts_where_tls_does_not_pass() -> None:
    objects = (gateway(RAW, {**PASS, "hostname": "b.test"}, END), CERT, CA, policy())
    found = relays(*objects, stream("TCPRoute", "raw"), tls_route("r", "a.test", "b.test"))
    by_name = {each.name: each.branches[0].backend for each in found}
    assert by_name["b.test"] == "infra/web:80"
    assert str(by_name[""]).startswith("https(verify,a.test,")
    assert by_name["a.test"] == by_name[""]


def test_a_policy_that_cannot_be_carried_out_closes() -> None:
    (found,) = relays(gateway(RAW), policy(), stream("TCPRoute", "raw"))
    assert found.branches[0].backend is None


def test_times_and_tries_are_those_of_the_configmap_and_a_closed_one_closes() -> None:
    objects = (gateway(RAW), stream("TCPRoute", "r"))
    settings = {"proxy-connect-timeout": "7", "proxy-next-upstream-tries": "2", "stream-idle-timeout": "90s"}
    model = shown(*objects, settings=settings).model
    assert [(each.connect_seconds, each.tries) for each in model.relays] == [(7.0, 2)]
    assert model.proxy.stream_idle_seconds == 90.0


def test_routes_of_http_are_no_relays() -> None:
    assert relay_claims((), {}, msgspec.UNSET, ways={}, overrides={}, zones=msgspec.UNSET) == ()  # type: ignore[arg-type]
