"""A grant allows one kind of one namespace to name one kind of another."""

from __future__ import annotations

import pytest

from ingress.translation.gateway.grants import Grants, Referrer
from tests.unit.ingress.cluster import inventory
from tests.unit.ingress.translation.gateway.objects import grant

ROUTE = Referrer("HTTPRoute", "infra")


@pytest.mark.parametrize(
    ("referrer", "kind", "name", "allowed"),
    [
        (ROUTE, "Service", "web", True),
        (ROUTE, "Service", "other", False),
        (ROUTE, "Secret", "web", False),
        (Referrer("GRPCRoute", "infra"), "Service", "web", False),
        (Referrer("HTTPRoute", "x"), "Service", "web", False),
        (Referrer("HTTPRoute", "shop"), "Secret", "any", True),
    ],
)
def test_every_part_counts(referrer: Referrer, kind: str, name: str, allowed: bool) -> None:
    grants = Grants(inventory(grant(name="web")))
    assert grants.allow(referrer, group="", kind=kind, namespace="shop", name=name) is allowed


def test_a_grant_without_a_name_is_for_all_of_a_kind() -> None:
    grants = Grants(inventory(grant()))
    assert grants.allow(ROUTE, group="", kind="Service", namespace="shop", name="any")
    assert not grants.allow(ROUTE, group="", kind="Service", namespace="other", name="any")
