"""Certificates of listeners: which can be shown, and what is wrong with the others."""

from __future__ import annotations

from typing import Any

import pytest

from ingress.translation.gateway.grants import Grants
from ingress.translation.gateway.listener_certificates import named_secrets, with_certificates
from ingress.translation.gateway.listeners import ReadListener
from tests.unit.ingress.cluster import inventory
from tests.unit.ingress.translation.gateway.objects import grant, read_one


def https(*references: dict[str, Any]) -> ReadListener:
    return read_one(port=443, protocol="HTTPS", tls={"certificateRefs": references})


def problem(key: str) -> str:
    return "" if key.endswith("/good") else "is bad: correct it."


def test_usable_certificates_are_shown_in_their_order() -> None:
    grants = Grants(inventory(grant("Gateway", to="Secret")))
    asked = https({"name": "good"}, {"name": "good", "namespace": "shop"})
    found = with_certificates(asked, grants, problem)
    assert (found.certificates, found.serves, found.unresolved) == (("infra/good", "shop/good"), True, None)
    assert list(named_secrets(asked, grants)) == [("infra", "good"), ("shop", "good")]


@pytest.mark.parametrize(
    ("reference", "reason"),
    [
        ({"name": "bad"}, "InvalidCertificateRef"),
        ({"name": "good", "kind": "ConfigMap"}, "InvalidCertificateRef"),
        ({"name": "good", "group": "x"}, "InvalidCertificateRef"),
        ({"name": "good", "namespace": "shop"}, "RefNotPermitted"),
    ],
)
def test_a_reference_that_leads_nowhere_closes_the_listener_unless_another_is_good(
    reference: dict[str, Any], reason: str
) -> None:
    grants = Grants(inventory())
    found = with_certificates(https(reference), grants, problem)
    assert found.unresolved is not None
    assert (found.unresolved.reason, found.serves, found.certificates) == (reason, False, ())
    assert with_certificates(https(reference, {"name": "good"}), grants, problem).serves


def test_without_a_reference_nothing_can_be_shown() -> None:
    assert not with_certificates(https(), Grants(inventory()), problem).serves


def test_plain_listeners_need_none() -> None:
    plain = read_one()
    assert with_certificates(plain, Grants(inventory()), problem) == plain
