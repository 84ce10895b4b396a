"""What many contexts trust: it is read once, and leaves them when it is retired."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from typing import Any

import pytest
from OpenSSL import crypto
from OpenSSL._util import lib

from balancer.connections.asking_tls import AskingContext, SharedContext
from balancer.connections.trust import Trust, add_lists
from balancer.model.certificates import Authority
from balancer.model.settings import ListenerTls
from tests.unit.balancer.connections.test_asking_tls import (
    CERTIFICATE,
    CLIENTS,
    DEMAND,
    STRANGERS,
    client_context,
    handshake,
    proof_of,
    revoking,
)

pytestmark = pytest.mark.large


def trusting(*, ca: bytes = b"", crl: bytes = b"") -> Trust:
    return Trust.read(Authority("shop/clients", ca or CLIENTS.cert_pem.bytes(), crl))


def asking(trust: Trust, *, depth: int = 1) -> AskingContext:
    return SharedContext(CERTIFICATE, trust, depth, ListenerTls(), "").asking(DEMAND, "shop.test")


def store_of(context: AskingContext) -> Any:
    return lib.SSL_CTX_get_cert_store(context.made._context)


def run(step: Callable[[], None]) -> None:
    step()


def test_all_contexts_share_one_store() -> None:
    trust = trusting(crl=revoking(1))
    one, other = asking(trust), asking(trust, depth=2)
    assert store_of(one) == store_of(other)
    assert store_of(one) != store_of(asking(trusting()))
    for each in (one, other):
        assert proof_of(CLIENTS, each).errors == ()
        assert proof_of(STRANGERS, each).errors != ()


def test_every_list_of_a_text_counts_and_only_a_list() -> None:
    store = crypto.X509Store()
    assert add_lists(store, b"") == 0
    assert add_lists(store, revoking(1) + revoking(2)) == 2
    for text in (b"AAAA", b"-----BEGIN X509 CRL-----\nAAAA\n", b"", b"-----BEGIN X509 CRL-----\nA"):
        with pytest.raises(ValueError):
            add_lists(store, text + b"-----END X509 CRL-----\n")


@pytest.mark.parametrize("ca", [b"nonsense", b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"])
def test_a_broken_authority_is_an_error_of_tls(ca: bytes) -> None:
    with pytest.raises(ssl.SSLError):
        trusting(ca=ca)


def test_a_broken_list_is_an_error_of_tls_and_no_error_of_the_next_connection() -> None:
    with pytest.raises(ssl.SSLError):
        trusting(crl=b"-----BEGIN X509 CRL-----\nAAAA\n-----END X509 CRL-----\n")
    assert proof_of(CLIENTS, asking(trusting())).errors == ()


def test_what_is_retired_leaves_contexts_that_open_connections_hold() -> None:
    trust = trusting(crl=revoking(1))
    context = asking(trust)
    session, client = handshake(context, client_context(CLIENTS))
    held = store_of(context)
    trust.retire(run)
    assert store_of(context) != held
    client.write(b"hello")
    assert session.read(5) == b"hello"


def test_a_handshake_that_is_under_way_ends_with_what_it_began_with() -> None:
    trust = trusting()
    context = asking(trust)
    held = store_of(context)
    trust.retire(run)
    assert store_of(context) == held
    session, _ = handshake(context, client_context(CLIENTS))
    assert session.proof is not None
    assert session.proof.errors == ()
    assert store_of(context) != held


def test_a_handshake_that_never_ends_holds_nothing_once_it_is_forgotten() -> None:
    trust = trusting()
    shared = SharedContext(CERTIFICATE, trust, 1, ListenerTls(), "")
    context = shared.asking(DEMAND, "shop.test")
    session = context.wrap_bio(ssl.MemoryBIO(), ssl.MemoryBIO(), server_side=True)
    freed: list[Callable[[], None]] = []
    trust.retire(freed.append)
    del context
    assert freed == []
    del session
    assert len(freed) == 1
