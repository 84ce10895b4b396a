"""Further names of hosts: aliases and the name with or without www., which never take a name from a rule."""

from __future__ import annotations

import pytest
import trustme

from balancer.model.gates import BlockedClients
from balancer.model.redirects import HttpsRedirect, NameRedirect
from balancer.model.routes import Host
from ingress.findings import Severity
from ingress.objects.kinds import Ingress, IngressTls, KubernetesObject
from ingress.translation.assembly import Translation
from ingress.translation.ingress.hosts.other_names import twin_of
from tests.unit.ingress.cluster import config_map, ingress, nginx, path, rule, service, tls_secret, translated

OLD, YOUNG = "2024-01-01T00:00:00Z", "2024-02-01T00:00:00Z"
WWW = nginx(from_to_www_redirect="true")
AUTHORITY = trustme.CA(key_type=trustme.KeyType.ECDSA)
LEAF = AUTHORITY.issue_cert("shop.test", "www.shop.test", "also.test", key_type=trustme.KeyType.ECDSA)
CERT = tls_secret("cert", LEAF.cert_chain_pems[0].bytes(), LEAF.private_key_pem.bytes())
TLS = [IngressTls(("shop.test",), "cert")]


def made(*objects: KubernetesObject) -> Translation:
    return translated(*objects, service())


def hosts(result: Translation) -> dict[str, Host]:
    return {host.name: host for host in result.model.hosts}


def aliasing(names: str, name: str = "web", *, host: str = "shop.test", at: str = "/", created: str = OLD) -> Ingress:
    return ingress(name, rule(host, path(at)), annotations=nginx(server_alias=names), created=created)


@pytest.mark.parametrize(
    ("name", "twin"),
    [
        ("shop.test", "www.shop.test"),
        ("www.shop.test", "shop.test"),
        ("*.shop.test", None),
        ("", None),
        ("www.", None),
    ],
)
def test_the_other_name_has_www_or_lacks_it(name: str, twin: str | None) -> None:
    assert twin_of(name) == twin


def test_the_other_name_redirects_every_path_to_the_host() -> None:
    result = made(ingress("web", rule("shop.test", path("/a")), annotations=WWW))
    twin = hosts(result)["www.shop.test"]
    assert (result.findings, twin.routes) == ((), ())
    assert twin.default is not None
    assert twin.default.gates == (NameRedirect("shop.test", 308),)
    assert (twin.default.owner.name, twin.certificate) == ("web", None)


def test_the_status_is_that_of_redirects_to_https() -> None:
    result = made(ingress("web", rule("shop.test"), annotations=WWW), config_map(http_redirect_code="301"))
    default = hosts(result)["www.shop.test"].default
    assert default is not None
    assert default.gates == (NameRedirect("shop.test", 301),)


def test_the_other_name_has_the_certificate_of_the_host_if_that_is_for_both() -> None:
    result = made(CERT, ingress("web", rule("www.shop.test"), annotations=WWW, tls=[IngressTls((), "cert")]))
    assert result.findings == ()
    assert hosts(result)["shop.test"].certificate == "shop/cert"
    other = made(CERT, ingress("web", rule("also.test"), annotations=WWW, tls=[IngressTls((), "cert")]))
    assert hosts(other)["www.also.test"].certificate is None
    assert [finding.severity for finding in other.findings] == [Severity.DEGRADED]


@pytest.mark.parametrize("twin", ["www.shop.test", "shop.test"])
def test_a_name_that_a_rule_has_is_not_redirected(twin: str) -> None:
    names = {"shop.test", "www.shop.test"}
    (name,) = names - {twin}
    result = made(ingress("a", rule(name), annotations=WWW), ingress("b", rule(twin)))
    assert hosts(result).keys() == names
    assert all(host.default is None for host in hosts(result).values())
    assert [(finding.name, finding.severity) for finding in result.findings] == [("a", Severity.COSMETIC)]


def test_a_wildcard_has_no_other_name() -> None:
    result = made(ingress("web", rule("*.shop.test"), annotations=WWW))
    assert hosts(result).keys() == {"*.shop.test"}
    assert [finding.reason for finding in result.findings] == ["NotRedirected"]


def test_an_alias_has_the_paths_of_every_ingress_of_the_host() -> None:
    result = made(aliasing("Also.test, *.more.test", at="/a"), ingress("other", rule("shop.test", path("/b"))))
    assert result.findings == ()
    assert hosts(result).keys() == {"shop.test", "also.test", "*.more.test"}
    assert hosts(result)["also.test"].routes == hosts(result)["*.more.test"].routes == hosts(result)["shop.test"].routes


def test_an_alias_of_the_catch_all_has_its_paths() -> None:
    result = made(aliasing("also.test", host=""))
    assert hosts(result)["also.test"].routes == hosts(result)[""].routes
    assert len(hosts(result)["also.test"].routes) == 1


def test_an_alias_that_a_rule_has_is_left_out() -> None:
    result = made(aliasing("also.test, shop.test"), ingress("also", rule("also.test", path("/own"))))
    assert [route.path for route in hosts(result)["also.test"].routes] == ["/own"]
    assert [(finding.name, finding.reason) for finding in result.findings] == [("web", "Conflict")]


def test_a_redirect_wins_against_an_alias() -> None:
    annotations = {**WWW, **nginx(server_alias="www.shop.test")}
    result = made(ingress("web", rule("shop.test"), annotations=annotations))
    default = hosts(result)["www.shop.test"].default
    assert default is not None
    assert default.gates == (NameRedirect("shop.test"),)
    assert [finding.severity for finding in result.findings] == [Severity.MISROUTED]


def test_of_two_lists_of_a_host_the_older_counts() -> None:
    result = made(aliasing("young.test", "a", created=YOUNG, at="/a"), aliasing("old.test", "b", created=OLD))
    assert hosts(result).keys() == {"shop.test", "old.test"}
    assert [(finding.name, finding.reason) for finding in result.findings] == [("a", "Conflict")]


def test_of_two_hosts_with_an_alias_the_older_has_it() -> None:
    result = made(
        aliasing("also.test", "a", host="a.test", created=YOUNG, at="/young"),
        aliasing("also.test", "b", host="b.test", created=OLD, at="/old"),
    )
    assert [route.path for route in hosts(result)["also.test"].routes] == ["/old"]
    assert [(finding.name, finding.reason) for finding in result.findings] == [("a", "Conflict")]


def test_expressions_are_left_out_and_told() -> None:
    result = made(aliasing(r"~^(www|api)\.a\.test$, also.test, .b.test"))
    assert hosts(result).keys() == {"shop.test", "also.test"}
    (finding,) = result.findings
    assert (finding.reason, finding.severity) == ("NotSupported", Severity.MISROUTED)
    assert "server-alias" in finding.message


def test_what_is_no_name_at_all_closes_the_ingress() -> None:
    result = made(aliasing("also.test; return 200"))
    assert hosts(result).keys() == {"shop.test"}
    assert hosts(result)["shop.test"].routes[0].closed


def test_an_alias_redirects_to_https_if_a_certificate_or_tls_is_for_it() -> None:
    result = made(
        CERT,
        ingress("web", rule("shop.test"), annotations=nginx(server_alias="also.test, bare.test"), tls=TLS),
        ingress("listed", rule("a.test"), annotations=nginx(server_alias="b.test"), tls=[IngressTls(("b.test",), "")]),
    )
    redirecting = {name for name, host in hosts(result).items() if host.routes[0].gates == (HttpsRedirect(),)}
    assert redirecting == {"shop.test", "also.test", "a.test", "b.test"}
    assert hosts(result)["also.test"].certificate == "shop/cert"
    assert hosts(result)["bare.test"].certificate is None


@pytest.mark.large
def test_names_and_paths_together_are_bounded() -> None:
    paths = [path(f"/{number}") for number in range(7000)]
    annotations = nginx(server_alias="a.test, b.test, c.test")
    result = made(ingress("web", rule("shop.test", *paths), annotations=annotations))
    assert hosts(result).keys() == {"shop.test", "a.test", "b.test"}
    assert [finding.severity for finding in result.findings] == [Severity.MISROUTED]


def test_blocked_clients_are_refused_before_they_are_redirected() -> None:
    result = made(ingress("web", rule("shop.test"), annotations=WWW), config_map(block_user_agents="curl"))
    default = hosts(result)["www.shop.test"].default
    assert default is not None
    assert default.gates == (BlockedClients(agents=("curl",)), NameRedirect("shop.test"))


def test_a_name_that_the_ingress_has_itself_as_a_host_is_no_finding() -> None:
    annotations = nginx(server_alias="also.test")
    result = made(ingress("web", rule("shop.test"), rule("also.test", path("/own")), annotations=annotations))
    assert result.findings == ()
    assert [route.path for route in hosts(result)["also.test"].routes] == ["/own"]


@pytest.mark.parametrize("said", [WWW, nginx(server_alias="www.shop.test")])
def test_another_namespace_gives_a_host_no_names(said: dict[str, str]) -> None:
    own = aliasing("www.shop.test")
    theirs = ingress("theirs", rule("shop.test", path("/x")), namespace="young", created=OLD, annotations=said)
    first = ingress("first", rule("shop.test", path("/first")), created="2023-01-01T00:00:00Z")
    result = made(first, theirs, own)
    assert [each.path for each in hosts(result)["www.shop.test"].routes] == ["/", "/first", "/x"]
    assert [(each.namespace, each.reason) for each in result.findings if each.reason == "Conflict"] == [
        ("young", "Conflict")
    ]
