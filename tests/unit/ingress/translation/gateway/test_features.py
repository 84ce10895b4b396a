"""The table of features."""

from __future__ import annotations

from ingress.translation.gateway.features import FEATURES, ROUTES_BY_PROTOCOL


def test_features_are_sorted_and_occur_once() -> None:
    names = [each.name for each in FEATURES]
    assert names == sorted(set(names))


def test_each_protocol_takes_a_kind_of_routes() -> None:
    assert all(ROUTES_BY_PROTOCOL.values())
    assert "UDP" not in ROUTES_BY_PROTOCOL
