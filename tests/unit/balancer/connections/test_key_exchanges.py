"""Groups of key exchanges: curves, and none of those that cost a worker a tenth of a second for one ClientHello."""

from __future__ import annotations

import ssl
from collections.abc import Callable

import pytest

from balancer.connections.asking_tls import SharedContext
from balancer.connections.endpoint_tls import endpoint_context
from balancer.connections.key_exchanges import groups_of, only_curves
from balancer.connections.tls import make_context, self_signed
from balancer.connections.trust import Trust
from balancer.model.certificates import Authority
from balancer.model.client_tls import ClientDemand
from balancer.model.handshakes import Handshake
from balancer.model.settings import ListenerTls

pytestmark = pytest.mark.skipif(not only_curves(), reason="this Python has OpenSSL inside")

FALLBACK = self_signed()
DEMAND = ClientDemand("shop.test", "shop/clients", "digest")


def shown() -> ssl.SSLContext:
    return make_context(FALLBACK)


def asking() -> ssl.SSLContext:
    trust = Trust.read(Authority("shop/clients", FALLBACK.chain_pem, b""))
    return SharedContext(FALLBACK, trust, 1, ListenerTls(), "").asking(DEMAND, "shop.test")


def client(group: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_ecdh_curve(group)
    return context


def agree(one: ssl.SSLContext, other: ssl.SSLContext) -> bool:
    """Whether a client and a server find a group. Raises ssl.SSLError for whoever refuses first."""
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    asks = one.wrap_bio(back, there, server_hostname="shop.test")
    answers = other.wrap_bio(there, back, server_side=True)
    for _ in range(4):
        for side in (asks, answers):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
    return asks.version() == "TLSv1.3"


@pytest.mark.parametrize("server", [shown, asking])
@pytest.mark.parametrize("group", ["X25519", "prime256v1", "X448", "secp384r1", "secp521r1"])
def test_clients_exchange_keys_on_any_curve(server: Callable[[], ssl.SSLContext], group: str) -> None:
    assert agree(client(group), server())


@pytest.mark.parametrize("server", [shown, asking])
@pytest.mark.parametrize("group", ["ffdhe2048", "ffdhe8192"])
def test_no_client_chooses_a_costly_group(server: Callable[[], ssl.SSLContext], group: str) -> None:
    with pytest.raises(ssl.SSLError):
        agree(client(group), server())


def test_no_endpoint_chooses_one_either() -> None:
    costly = make_context(FALLBACK)
    costly.set_ecdh_curve("ffdhe2048")
    with pytest.raises(ssl.SSLError):
        agree(endpoint_context(Handshake(verify=False)), costly)


@pytest.mark.parametrize("ciphers", ["", "DHE-RSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256"])
def test_no_endpoint_makes_up_a_group(ciphers: str) -> None:
    names = [each["name"] for each in endpoint_context(Handshake(verify=False, ciphers=ciphers)).get_ciphers()]
    assert "ECDHE-RSA-AES128-GCM-SHA256" in names
    assert not any(name.startswith("DHE-") for name in names)


def test_a_newer_library_begins_with_its_hybrid() -> None:
    assert groups_of(0x3000_00F0).startswith(b"X25519:")
    assert b"MLKEM" in groups_of(0x3050_0000)
