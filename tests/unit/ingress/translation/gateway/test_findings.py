"""What a status says is not served is a finding, too."""

from __future__ import annotations

from collections.abc import Iterable

from ingress.findings import Finding, Findings, Severity
from ingress.translation.gateway.findings import note_standings
from ingress.translation.gateway.memory import GatewayMemory
from ingress.translation.gateway.standings import ObjectStanding
from tests.unit.ingress.cluster import reasons, service
from tests.unit.ingress.translation.gateway.objects import gateway, http_route, listener, policy, read_all

WEB = service("web", namespace="infra")


def noted(standings: Iterable[ObjectStanding], memory: GatewayMemory | None = None) -> tuple[Finding, ...]:
    findings = Findings()
    note_standings(standings, findings, memory or GatewayMemory())
    return findings.frozen()


def test_conditions_become_findings() -> None:
    bad = {"matches": [{"method": "BREW"}]}
    read = read_all(
        gateway(listener(), listener("odd", 9000, "UDP")), http_route(rules=[bad, {}]), http_route("lost", to="nope")
    )
    found = noted(read.standings)
    assert reasons(found) == [
        ("gw", "UnsupportedProtocol"),
        ("lost", "BackendNotFound"),
        ("route", "UnsupportedValue"),
    ]
    assert {each.severity for each in found} == {Severity.CLOSED}
    assert found[0].message.startswith("Listener odd: ")
    assert found[1].message.startswith("Gateway infra/gw: ")


def test_policies_are_told_where_they_are_used() -> None:
    read = read_all(gateway(), http_route(), WEB, policy())
    assert reasons(noted(read.standings)) == [
        ("policy", "InvalidCACertificateRef"),
        ("policy", "NoValidCACertificate"),
        ("route", "InvalidBackendTLS"),
    ]


def test_where_all_is_well_there_is_none() -> None:
    assert noted(read_all(gateway(), http_route(), WEB).standings) == ()


def test_the_next_translation_tells_of_what_has_changed_as_of_the_rest() -> None:
    memory = GatewayMemory()
    standings = read_all(gateway(), http_route("lost", to="nope"), http_route("also", to="nope")).standings
    first = noted(standings, memory)
    assert len(memory.quiet) == len(standings) - 2
    assert noted(standings, memory) == first
    repaired = read_all(gateway(), http_route("lost", to="nope"), http_route("also", to="web"), WEB).standings
    assert reasons(noted(repaired, memory)) == [("lost", "BackendNotFound")]
