"""References have the defaults that the API server would set."""

from __future__ import annotations

from ingress.objects.gateway_references import GATEWAY_GROUP, ParentReference, SecretReference, WeightedBackend


def test_what_a_reference_does_not_say() -> None:
    assert ParentReference("gw") == ParentReference("gw", GATEWAY_GROUP, "Gateway", "", "", 0)
    assert SecretReference("cert").kind == "Secret"
    assert WeightedBackend("shop").weight == 1
