"""The default backend and the default certificate are those that the process was told, if they can be used."""

from __future__ import annotations

import trustme

from ingress.settings.context import TranslationContext
from tests.unit.ingress.cluster import (
    config_map,
    reasons,
    service,
    tls_secret,
    translated,
)

AUTHORITY = trustme.CA(key_type=trustme.KeyType.ECDSA)
LEAF = AUTHORITY.issue_cert("shop.test", key_type=trustme.KeyType.ECDSA)
TLS = tls_secret("t", LEAF.cert_chain_pems[0].bytes(), LEAF.private_key_pem.bytes())


def test_the_default_certificate() -> None:
    context = TranslationContext(default_ssl_certificate="shop/t")
    result = translated(TLS, context=context)
    assert result.model.configuration().default_certificate == "shop/t"
    assert len(result.model.certificates) == 1
    assert reasons(translated(context=context).findings) == [("t", "CertificateUnusable")]


def test_the_default_backend_service() -> None:
    context = TranslationContext(default_backend_service="shop/cart")
    result = translated(service(), context=context)
    (default,) = result.model.default_routes()
    assert default.main.backend == "shop/cart:80"
    missing = translated(context=context)
    assert missing.model.default_routes() == ()
    assert reasons(missing.findings) == [("cart", "ServiceMissing")]


def test_what_blocks_clients_holds_where_no_host_claims_the_request() -> None:
    blocked = translated(config_map(block_cidrs="10.0.0.0/8", block_user_agents="curl")).model
    assert len(blocked.configuration().unmatched_gates) == 2
    assert translated().model.configuration().unmatched_gates == ()
