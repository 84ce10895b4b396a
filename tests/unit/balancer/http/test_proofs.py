"""A proof without a certificate shows nothing."""

from __future__ import annotations

from balancer.http.proofs import ClientProof
from balancer.model.client_tls import ClientDemand


def test_nothing_is_shown_unless_it_was() -> None:
    proof = ClientProof(ClientDemand("shop.test", "shop/clients", "digest"), b"shop.test")
    assert (proof.pem, proof.errors, proof.reason, proof.subject, proof.issuer) == (b"", (), "", "", "")
