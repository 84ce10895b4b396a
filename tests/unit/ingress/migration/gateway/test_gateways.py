"""The Gateway of moved hosts: a listener for each host and port, or ListenerSets where there are too many."""

from __future__ import annotations

from ingress.migration.gateway.gateways import HostListeners, doorway_of, gateway_documents, listener_name, showing

GATEWAY = ("zonal", "gw")


def hosts(*said: HostListeners) -> dict[str, HostListeners]:
    return {each.host: each for each in said}


def test_each_host_has_listeners_that_take_its_namespaces() -> None:
    known = hosts(HostListeners("a.test", ("shop",), (("shop", "cert"),)), HostListeners("", ("zonal",)))
    doorway = doorway_of(known, GATEWAY)
    _, gateway, grant = gateway_documents(known, doorway, "zonal")
    named = {each["name"]: each for each in gateway["spec"]["listeners"]}
    assert sorted(named) == ["http", "http-a.test", "https-a.test"]
    assert named["http"]["allowedRoutes"]["namespaces"] == {"from": "Same"}
    assert named["https-a.test"]["tls"]["certificateRefs"] == [{"name": "cert", "namespace": "shop"}]
    assert named["https-a.test"]["allowedRoutes"]["namespaces"]["selector"] == {
        "matchLabels": {"kubernetes.io/metadata.name": "shop"}
    }
    assert grant["metadata"]["namespace"] == "shop"
    assert grant["spec"]["to"] == [{"group": "", "kind": "Secret", "name": "cert"}]
    assert doorway.parent("a.test", "https", "shop") == {
        "namespace": "zonal",
        "name": "gw",
        "sectionName": "https-a.test",
    }


def test_a_host_of_two_namespaces_takes_both() -> None:
    known = hosts(HostListeners("a.test", ("shop", "blog")))
    _, gateway = gateway_documents(known, doorway_of(known, GATEWAY), "zonal")
    (said,) = gateway["spec"]["listeners"][0]["allowedRoutes"]["namespaces"]["selector"]["matchExpressions"]
    assert said["values"] == ["blog", "shop"]


def test_more_hosts_than_a_gateway_has_listeners_stand_in_sets_of_their_namespaces() -> None:
    known = hosts(*(HostListeners(f"h{number}.test", (f"ns{number % 2}",)) for number in range(200)))
    doorway = doorway_of(known, GATEWAY)
    _, gateway, *sets = gateway_documents(known, doorway, "zonal")
    assert gateway["spec"]["allowedListeners"] == {"namespaces": {"from": "All"}}
    assert len(gateway["spec"]["listeners"]) == 1
    places = [(each["metadata"]["namespace"], each["metadata"]["name"]) for each in sets]
    assert places == [("ns0", "gw"), ("ns0", "gw-2"), ("ns1", "gw"), ("ns1", "gw-2")]
    assert max(len(each["spec"]["listeners"]) for each in sets) == 64
    assert doorway.parent("h1.test", "http", "ns1")["kind"] == "ListenerSet"


def test_listeners_have_valid_names() -> None:
    assert listener_name("*.a.test", "https") == "https-wildcard.a.test"


def test_the_certificate_that_endpoints_see_stands_in_the_gateway_with_a_grant() -> None:
    documents = gateway_documents({}, doorway_of({}, GATEWAY), "zonal")
    (gateway, grant) = showing(documents, GATEWAY, ("shop", "client"))[1:]
    assert gateway["spec"]["tls"] == {"backend": {"clientCertificateRef": {"name": "client", "namespace": "shop"}}}
    assert grant["metadata"]["namespace"] == "shop"
    assert grant["spec"]["to"] == [{"group": "", "kind": "Secret", "name": "client"}]


def test_a_secret_beside_the_gateway_needs_no_grant() -> None:
    documents = gateway_documents({}, doorway_of({}, GATEWAY), "zonal")
    (gateway,) = showing(documents, GATEWAY, ("zonal", "client"))[1:]
    assert gateway["spec"]["tls"] == {"backend": {"clientCertificateRef": {"name": "client"}}}
