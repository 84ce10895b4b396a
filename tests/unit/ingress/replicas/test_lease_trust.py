"""Replicas that Leases name believe each other, and nobody else; and an identity is the hash of a key."""

from __future__ import annotations

import aiohttp
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding

from ingress.replicas.lease_trust import CERTIFICATE_MOST, LeaseTrust
from ingress.replicas.trust import certificate, credentials_of, named
from tests.unit.ingress.replicas.test_trust import shaken

SECRET = bytes(32)


def pem_of(trust: LeaseTrust) -> str:
    return trust.certificate_pem.decode("ascii")


async def test_both_must_believe_each_other() -> None:
    one, two = LeaseTrust(SECRET), LeaseTrust(SECRET)
    assert one.believe([pem_of(two), pem_of(one)]) == 2
    with pytest.raises(aiohttp.ClientError):
        await shaken(one.credentials, two.credentials.client)
    two.believe([pem_of(one)])
    assert await shaken(one.credentials, two.credentials.client) == two.credentials.identity
    assert await shaken(two.credentials, one.credentials.client) == one.credentials.identity
    assert one.credentials.believed == frozenset(
        (
            one.credentials.identity,
            two.credentials.identity,
        )
    )


async def test_whose_lease_is_gone_is_believed_no_longer() -> None:
    one, two = LeaseTrust(SECRET), LeaseTrust(SECRET)
    one.believe([pem_of(two)])
    two.believe([pem_of(one)])
    one.believe([])
    with pytest.raises(aiohttp.ClientError):
        await shaken(one.credentials, two.credentials.client)
    assert one.credentials.believed == frozenset((one.credentials.identity,))


async def test_a_replica_reaches_itself_so_that_it_knows_its_own_address() -> None:
    one = LeaseTrust(SECRET)
    assert await shaken(one.credentials, one.credentials.client) == one.credentials.identity


async def test_who_has_a_secret_instead_is_not_believed() -> None:
    one = LeaseTrust(SECRET)
    with pytest.raises(aiohttp.ClientError):
        await shaken(one.credentials, credentials_of(SECRET).client)


def test_who_believes_the_same_ones_as_before_makes_nothing_anew() -> None:
    one, other = LeaseTrust(SECRET), LeaseTrust(SECRET)
    assert one.believe([pem_of(other)]) == 1
    client = one.credentials.client
    assert one.believe([pem_of(other)]) == 1
    assert one.credentials.client is client
    assert one.believe([]) == 0
    assert one.credentials.client is not client


def test_nobody_takes_the_identity_of_another_one() -> None:
    victim, key = LeaseTrust(SECRET), ec.generate_private_key(ec.SECP256R1())
    name = named(victim.credentials.identity)
    stolen = certificate(name, key, key, issuer=name).public_bytes(Encoding.PEM).decode("ascii")
    one = LeaseTrust(SECRET)
    assert one.believe([stolen]) == 0
    assert one.credentials.believed == frozenset((one.credentials.identity,))


@pytest.mark.parametrize(
    "told", ["", "no certificate", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----", "\u00fc"]
)
def test_what_is_no_certificate_is_left_out(told: str) -> None:
    assert LeaseTrust(SECRET).believe([told, "x" * (CERTIFICATE_MOST + 1)]) == 0


def test_two_certificates_at_once_are_none() -> None:
    one, two = LeaseTrust(SECRET), LeaseTrust(SECRET)
    assert LeaseTrust(SECRET).believe([pem_of(one) + pem_of(two)]) == 0
