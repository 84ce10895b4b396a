"""The oldest Ingress with a demand says what clients of a host must show."""

from __future__ import annotations

from balancer.model.client_tls import ClientCertificates, ClientDemand
from balancer.model.routes import Owner
from ingress.findings import Findings
from ingress.translation.claims import ClientTlsClaim
from ingress.translation.ingress.hosts.host_protection import protect_hosts
from ingress.translation.ingress.hosts.settled import OwnClaims, SettledHost

RULE = ClientCertificates(ClientDemand("", "shop/clients", "digest"))
OTHER = ClientCertificates(ClientDemand("", "shop/others", "digest"))


def claims(name: str, rule: ClientCertificates | None, *hosts: str) -> OwnClaims:
    return OwnClaims(Owner("Ingress", "shop", name), hosts=hosts, client_tls=ClientTlsClaim(rule))


def settled(*claimed: OwnClaims) -> tuple[dict[str, SettledHost], Findings]:
    hosts = {name: SettledHost(has_tls=True) for each in claimed for name in each.hosts}
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
