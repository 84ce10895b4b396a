"""Which policy holds for a port of a Service."""

from __future__ import annotations

from typing import Any

import pytest

from ingress.objects.kinds import KubernetesObject, ServicePort
from ingress.translation.gateway.backend_policies import BackendPolicies
from ingress.translation.gateway.service_references import NamedPort
from tests.unit.ingress.cluster import inventory, service
from tests.unit.ingress.translation.gateway.objects import policy

PORT = NamedPort("infra", "web", 80, "http")
SERVICE = service("web", ServicePort(80, "http"), ServicePort(81, "more"), namespace="infra")


def policies(*objects: KubernetesObject) -> BackendPolicies:
    return BackendPolicies(
        inventory(SERVICE, *objects), lambda _, name: "" if name == "ca" else "does not exist: create it."
    )


def conditions(found: BackendPolicies, name: str) -> dict[str, tuple[str, str]]:
    standings = found.standings({PORT: [("infra", "gw")]}, "us")
    status: Any = next(each.status for each in standings if each.name == name)
    return {each.type: (each.status, each.reason) for each in status.ancestors[0].conditions}


def test_a_policy_for_a_port_outranks_one_for_the_service() -> None:
    found = policies(policy("all"), policy("one", section="http", created="2026-01-02T00:00:00Z"))
    winner, other = found.of(PORT), found.of(NamedPort("infra", "web", 81, "more"))
    assert winner is not None
    assert other is not None
    assert (winner.policy.metadata.name, other.policy.metadata.name) == ("one", "all")
    assert found.of(NamedPort("infra", "else", 80, "http")) is None


def test_the_older_one_then_the_first_name_wins() -> None:
    found = policies(policy("a", created="2026-01-02T00:00:00Z"), policy("b", created="2026-01-01T00:00:00Z"))
    assert conditions(found, "b")["Accepted"] == ("True", "Accepted")
    assert conditions(found, "a")["Accepted"] == ("False", "Conflicted")


@pytest.mark.parametrize(
    ("said", "accepted", "resolved"),
    [
        ({}, ("True", "Accepted"), ("True", "ResolvedRefs")),
        (
            {"caCertificateRefs": [{"kind": "ConfigMap", "name": "no"}]},
            "NoValidCACertificate",
            "InvalidCACertificateRef",
        ),
        ({"caCertificateRefs": [{"kind": "Secret", "name": "ca"}]}, "NoValidCACertificate", "InvalidKind"),
        ({"caCertificateRefs": [], "wellKnownCACertificates": "x/y"}, "Invalid", ("True", "ResolvedRefs")),
        ({"caCertificateRefs": []}, "Invalid", ("True", "ResolvedRefs")),
        ({"hostname": "a b"}, "Invalid", ("True", "ResolvedRefs")),
        ({"hostname": "a" * 64 + ".test"}, "Invalid", ("True", "ResolvedRefs")),
        ({"subjectAltNames": [{"type": "URI"}]}, "Invalid", ("True", "ResolvedRefs")),
    ],
)
def test_why_a_policy_cannot_be_carried_out(said: dict[str, Any], accepted: Any, resolved: Any) -> None:
    found = conditions(policies(policy(**said)), "policy")
    assert found["Accepted"] == (("False", accepted) if isinstance(accepted, str) else accepted)
    assert found["ResolvedRefs"] == (("False", resolved) if isinstance(resolved, str) else resolved)


def test_a_policy_for_a_port_that_is_not_there() -> None:
    assert conditions(policies(policy(section="nope")), "policy")["Accepted"] == ("False", "TargetNotFound")


def test_a_policy_that_no_route_needs_has_no_ancestor() -> None:
    found = policies(policy())
    assert next(each.status for each in found.standings({}, "us")).ancestors == ()  # type: ignore[union-attr]
    assert [each.config_maps for each in found.needs()] == [(("infra", "ca"),)]
