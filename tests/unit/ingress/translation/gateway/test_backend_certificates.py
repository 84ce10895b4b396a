"""The certificate that a Gateway shows to backends."""

from __future__ import annotations

from typing import Any

import pytest

from ingress.objects.gateway import Gateway
from ingress.translation.gateway.backend_certificates import certificate_problem, shown_certificate
from ingress.translation.gateway.grants import Grants
from tests.unit.ingress.cluster import inventory
from tests.unit.ingress.translation.gateway.objects import gateway, grant


def showing(**reference: Any) -> Gateway:
    return gateway(tls={"backend": {"clientCertificateRef": reference}})


def problem(key: str) -> str:
    return "" if key.endswith("/me") else "is bad: correct it."


def test_nothing_is_asked_for_and_nothing_is_wrong() -> None:
    assert shown_certificate(gateway(), Grants(inventory())) is None
    assert certificate_problem(gateway(), Grants(inventory()), problem) is None


@pytest.mark.parametrize(
    ("reference", "reason"),
    [
        ({"name": "bad"}, "InvalidClientCertificateRef"),
        ({"name": "me", "kind": "Odd"}, "InvalidClientCertificateRef"),
        ({"name": "me", "namespace": "shop"}, "RefNotPermitted"),
    ],
)
def test_why_it_cannot_be_shown(reference: dict[str, Any], reason: str) -> None:
    found = certificate_problem(showing(**reference), Grants(inventory()), problem)
    assert found is not None
    assert found.reason == reason


def test_a_grant_allows_one_of_another_namespace() -> None:
    grants = Grants(inventory(grant("Gateway", to="Secret")))
    assert certificate_problem(showing(name="me", namespace="shop"), grants, problem) is None
