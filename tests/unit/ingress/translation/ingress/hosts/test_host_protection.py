"""The oldest Ingress with a demand says what clients of a host must show."""

from __future__ import annotations

import pytest

from balancer.model.client_tls import ClientCertificates, ClientDemand, ClientVerification
from balancer.model.routes import Owner, PathKind
from ingress.findings import Findings, Severity
from ingress.translation.claims import ClientTlsClaim
from ingress.translation.ingress.hosts.host_protection import protect_hosts
from ingress.translation.ingress.hosts.settled import OwnClaims, PlaceClaim, SettledHost

RULE = ClientCertificates(ClientDemand("", "shop/clients", "digest"))
OTHER = ClientCertificates(ClientDemand("", "shop/others", "digest"))


def claims(name: str, rule: ClientCertificates | None, *hosts: str, namespace: str = "shop") -> OwnClaims:
    return OwnClaims(Owner("Ingress", namespace, name), hosts=hosts, client_tls=ClientTlsClaim(rule))


def place(name: str, namespace: str) -> PlaceClaim:
    return PlaceClaim(Owner("Ingress", namespace, name), "a.test", f"/{name}", PathKind.PREFIX, ())


def settled(*claimed: OwnClaims) -> tuple[dict[str, SettledHost], Findings]:
    hosts = {name: SettledHost(holder="shop", has_tls=True) for each in claimed for name in each.hosts}
    for each in claimed:
        for name in each.hosts:
            hosts[name].give(place(each.owner.name, each.owner.namespace))
    findings = Findings()
    protect_hosts(hosts, claimed, findings)
    return hosts, findings


def test_the_oldest_decides_and_the_others_hear_it() -> None:
    hosts, findings = settled(claims("old", RULE, "a.test"), claims("new", OTHER, "a.test", "b.test"))
    assert hosts["a.test"].client_certificates == RULE
    assert hosts["b.test"].client_certificates == OTHER
    assert [(finding.name, finding.reason) for finding in findings.frozen()] == [("new", "Conflict")]


def test_one_that_cannot_be_read_closes_the_host_whoever_is_older() -> None:
    for order in ((RULE, None), (None, RULE)):
        hosts, _ = settled(*(claims(str(number), rule, "a.test") for number, rule in enumerate(order)))
        assert hosts["a.test"].is_denied


def closed(host: SettledHost) -> list[str]:
    return [path for (path, _), claim in host.paths.items() if claim.closed]


@pytest.mark.parametrize("rule", [None, RULE])
def test_another_namespace_closes_its_own_paths_and_nothing_else(rule: ClientCertificates | None) -> None:
    hosts, findings = settled(claims("own", None), claims("other", rule, "a.test", namespace="young"))
    hosts["a.test"].give(place("web", "shop"))
    assert (hosts["a.test"].client_certificates, hosts["a.test"].is_denied) == (None, False)
    assert closed(hosts["a.test"]) == ["/other"]
    (finding,) = findings.frozen()
    assert (finding.reason, finding.severity, finding.namespace) == ("Conflict", Severity.CLOSED, "young")


def test_another_namespace_may_ask_for_what_the_host_asks_for_or_for_nothing() -> None:
    off = ClientCertificates(ClientDemand("", "young/clients", "digest", ClientVerification.OFF))
    hosts, findings = settled(
        claims("same", RULE, "a.test", namespace="young"),
        claims("off", off, "a.test", namespace="young"),
        claims("own", RULE, "a.test"),
    )
    assert hosts["a.test"].client_certificates == RULE
    assert (closed(hosts["a.test"]), findings.frozen()) == ([], ())
