"""What Secrets and ConfigMaps hold is judged, and nothing of them is shown."""

from __future__ import annotations

from ingress.objects.kinds import ConfigMap, Metadata
from ingress.translation.gateway.material import GatewayMaterial
from ingress.translation.secrets.materials import Materials
from tests.unit.ingress.cluster import inventory, tls_secret


def test_what_is_wrong_with_a_certificate() -> None:
    material = GatewayMaterial(inventory(tls_secret("bad", b"Hello", b"World", namespace="infra")), Materials())
    assert material.certificate_problem("infra/none") == "does not exist: create it."
    assert "give it a matching tls.crt and tls.key" in material.certificate_problem("infra/bad")


def test_what_is_wrong_with_an_authority() -> None:
    known = inventory(ConfigMap(Metadata("empty", "infra")), ConfigMap(Metadata("bad", "infra"), {"ca.crt": "x"}))
    material = GatewayMaterial(known, Materials())
    assert material.authority_problem("infra", "none") == "does not exist: create it."
    assert material.authority_problem("infra", "empty") == "has no ca.crt: add it."
    assert "cannot be used" in material.authority_problem("infra", "bad")
