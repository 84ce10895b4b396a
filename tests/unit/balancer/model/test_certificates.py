"""A certificate shows its name and never its key."""

from __future__ import annotations

from balancer.model.certificates import Certificate
from balancer.model.publication import Publication, RoutingModel


def test_a_private_key_is_never_shown() -> None:
    certificate = Certificate(
        key="shop/tls", chain_pem=b"CHAIN", private_key_pem=b"VERY SECRET", expires_at_epoch_seconds=1e9
    )
    shown = repr(Publication(generation=1, model=RoutingModel(certificates=(certificate,))))
    assert "shop/tls" in shown
    assert "SECRET" not in shown
