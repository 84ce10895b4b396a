"""References that routes, Gateways and policies follow."""

from __future__ import annotations

import pytest

from ingress.objects.gateway_references import SecretReference
from ingress.translation.gateway.grants import Grants, Referrer
from ingress.translation.gateway.references import followed, kind_problem
from ingress.translation.gateway.standings import Problem
from tests.unit.ingress.cluster import inventory
from tests.unit.ingress.translation.gateway.objects import grant

GATEWAY = Referrer("Gateway", "infra")


def follow(reference: SecretReference, grants: Grants | None = None) -> tuple[str, str] | Problem:
    return followed(
        reference, GATEWAY, grants or Grants(inventory()), field="certificateRefs", kind="Secret", odd_kind="Odd"
    )


def test_the_own_namespace_needs_no_grant() -> None:
    assert follow(SecretReference("cert")) == ("infra", "cert")
    assert follow(SecretReference("cert", namespace="infra")) == ("infra", "cert")


def test_a_foreign_namespace_needs_one() -> None:
    foreign = SecretReference("cert", namespace="shop")
    assert follow(foreign, Grants(inventory(grant("Gateway", to="Secret")))) == ("shop", "cert")
    refused = follow(foreign)
    assert isinstance(refused, Problem)
    assert refused.reason == "RefNotPermitted"
    assert "a Gateway of infra" in refused.message


@pytest.mark.parametrize("reference", [SecretReference("a", kind="ConfigMap"), SecretReference("a", group="b.test")])
def test_another_kind_is_a_problem_before_any_grant(reference: SecretReference) -> None:
    problem = follow(reference)
    assert problem == kind_problem(reference, "certificateRefs", "Secret", odd_kind="Odd")
    assert isinstance(problem, Problem)
    assert problem.message.endswith("name a Secret.")
