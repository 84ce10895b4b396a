"""Which certificate a server name gets, and what is said of it."""

from __future__ import annotations

import msgspec
import trustme

from balancer.matching.certificates import (
    CertificateFacts,
    facts_of,
)
from balancer.model.certificates import Certificate
from balancer.model.publication import RoutingModel
from balancer.model.route_configurations import RouteConfiguration
from balancer.model.routes import Host


def certificate(key: str, *names: str) -> Certificate:
    issued = trustme.CA().issue_cert(*names)
    chain = b"".join(part.bytes() for part in issued.cert_chain_pems)
    return Certificate(key, chain, issued.private_key_pem.bytes(), expires_at_epoch_seconds=1_800_000_000.0)


SHOP, WILD, DEFAULT = (
    certificate("shop/shop", "shop.test", "www.shop.test"),
    certificate("shop/wild", "*.wild.test"),
    certificate("shop/default", "default.test"),
)
MODEL = RoutingModel(
    hosts=(
        Host(name="", certificate=WILD.key),
        Host(name="*.wild.test", certificate=WILD.key),
        Host(name="missing.test", certificate="shop/missing"),
        Host(name="shop.test", certificate=SHOP.key),
    ),
    certificates=(DEFAULT, SHOP, WILD),
    route_configurations=(RouteConfiguration(default_certificate=DEFAULT.key),),
)


def test_a_certificate_is_told_by_secret_names_and_expiry() -> None:
    expected = CertificateFacts("shop/shop", ("shop.test", "www.shop.test"), "2027-01-15T08:00:00+00:00")
    assert facts_of(SHOP) == expected


def test_the_self_signed_certificate_has_no_secret() -> None:
    assert facts_of(None) == CertificateFacts(secret=None, names=(), expires=None)


def test_a_chain_that_cannot_be_read_has_no_names() -> None:
    assert facts_of(msgspec.structs.replace(SHOP, chain_pem=b"")).names == ()
