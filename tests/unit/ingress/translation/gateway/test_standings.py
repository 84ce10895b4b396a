"""Standings are what a status should say, in the words of the API."""

from __future__ import annotations

import msgspec

from ingress.objects.gateway_references import ParentReference
from ingress.translation.gateway.standings import GatewayStatus, Problem, condition, parent_name, standing_of
from tests.unit.ingress.translation.gateway.objects import gateway


def test_a_condition_says_what_holds_or_what_is_wrong() -> None:
    good = condition("Accepted", None, 3, said="fine")
    assert msgspec.to_builtins(good) == {
        "type": "Accepted",
        "status": "True",
        "reason": "Accepted",
        "message": "fine",
        "observedGeneration": 3,
    }
    bad = condition("Accepted", Problem("Odd", "why"), 3)
    assert (bad.status, bad.reason, bad.message) == ("False", "Odd", "why")


def test_a_parent_has_its_namespace_and_nothing_that_the_reference_does_not_say() -> None:
    assert msgspec.to_builtins(parent_name(ParentReference("gw"), "infra")) == {
        "group": "gateway.networking.k8s.io",
        "kind": "Gateway",
        "namespace": "infra",
        "name": "gw",
    }
    assert parent_name(ParentReference("gw", section_name="a", port=80), "infra").section_name == "a"


def test_a_standing_names_its_object() -> None:
    found = standing_of(gateway(), GatewayStatus((), ()))
    assert (found.kind, found.namespace, found.name) == ("Gateway", "infra", "gw")
