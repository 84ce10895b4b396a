"""A handshake has the content that keys name, and a key that names nothing lets no handshake succeed."""

from __future__ import annotations

import ssl

import pytest

from balancer.connections.endpoint_tls import endpoint_context
from balancer.model.certificates import Authority, ClientCertificate
from balancer.model.endpoints import EndpointTls
from balancer.model.handshakes import Handshake, Keyring

KEYRING = Keyring(
    [Authority("shop/ca", b"roots"), Authority("web/ca", b"other roots")],
    [ClientCertificate("shop/ca", b"chain", b"PRIVATE KEY")],
)


def test_plain_http_needs_no_handshake() -> None:
    assert KEYRING.handshake(None) is None


def test_keys_become_their_content() -> None:
    verified = EndpointTls(verify=True, server_name="cart.test", authority="web/ca")
    assert KEYRING.handshake(verified) == Handshake(verify=True, server_name="cart.test", ca_pem=b"other roots")
    both = EndpointTls(authority="shop/ca", client_certificate="shop/ca")
    assert KEYRING.handshake(both) == Handshake(ca_pem=b"roots", chain_pem=b"chain", private_key_pem=b"PRIVATE KEY")
    assert KEYRING.handshake(EndpointTls()) == Handshake()


@pytest.mark.parametrize(
    "tls", [EndpointTls(verify=True, authority="shop/gone"), EndpointTls(client_certificate="shop/gone")]
)
def test_a_key_that_names_nothing_lets_no_handshake_succeed(tls: EndpointTls) -> None:
    made = KEYRING.handshake(tls)
    assert made is not None
    with pytest.raises(ssl.SSLError):
        endpoint_context(made)


def test_no_text_shows_pem() -> None:
    shown = ClientCertificate("shop/ca", b"chain", b"PRIVATE KEY")
    made = KEYRING.handshake(EndpointTls(client_certificate="shop/ca"))
    assert "PRIVATE KEY" not in repr((shown, made))
    assert "roots" not in repr(Authority("shop/ca", b"roots"))
