"""What a status says is not served is a finding, too."""

from __future__ import annotations

from ingress.findings import Findings, Severity
from ingress.translation.gateway.findings import note_standings
from tests.unit.ingress.cluster import reasons, service
from tests.unit.ingress.translation.gateway.objects import gateway, http_route, listener, policy, read_all


def test_conditions_become_findings() -> None:
    bad = {"matches": [{"method": "BREW"}]}
    read = read_all(
        gateway(listener(), listener("odd", 9000, "UDP")), http_route(rules=[bad, {}]), http_route("lost", to="nope")
    )
    findings = Findings()
    note_standings(read.standings, findings)
    found = findings.frozen()
    assert reasons(found) == [
        ("gw", "UnsupportedProtocol"),
        ("lost", "BackendNotFound"),
        ("route", "UnsupportedValue"),
    ]
    assert {each.severity for each in found} == {Severity.CLOSED}
    assert found[0].message.startswith("Listener odd: ")
    assert found[1].message.startswith("Gateway infra/gw: ")


def test_policies_are_told_where_they_are_used() -> None:
    read = read_all(gateway(), http_route(), service("web", namespace="infra"), policy())
    findings = Findings()
    note_standings(read.standings, findings)
    assert reasons(findings.frozen()) == [("policy", "InvalidCACertificateRef"), ("policy", "NoValidCACertificate")]


def test_where_all_is_well_there_is_none() -> None:
    findings = Findings()
    note_standings(read_all(gateway(), http_route(), service("web", namespace="infra")).standings, findings)
    assert findings.frozen() == ()
