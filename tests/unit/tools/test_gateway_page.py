"""The page of Gateway API names every feature."""

from __future__ import annotations

from ingress.translation.gateway.features import FEATURES
from tools.gateway_page import markdown


def test_every_feature_has_a_row() -> None:
    text = markdown()
    assert all(f"| `{each.name}` | {each.meaning} |" in text for each in FEATURES)
    assert "| HTTP | HTTPRoute, GRPCRoute |" in text
