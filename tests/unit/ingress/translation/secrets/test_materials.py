"""What was read is remembered by its content, as long as translations use it."""

from __future__ import annotations

import time

import pytest
import trustme

from ingress.settings.table.tls_keys import KeyBounds
from ingress.translation.secrets.material.bounds import UnusableMaterial
from ingress.translation.secrets.materials import Materials
from tests.unit.ingress.translation.secrets.material.hostile import (
    certificate,
    certificates,
    honest,
    rsa_info,
    rsa_text,
)

AUTHORITY = trustme.CA(key_type=trustme.KeyType.ECDSA)
CA_PEM = AUTHORITY.cert_pem.bytes()
ONE = AUTHORITY.issue_cert("one.test", key_type=trustme.KeyType.ECDSA)
CHAIN, KEY = ONE.cert_chain_pems[0].bytes(), ONE.private_key_pem.bytes()
RSA = certificates(certificate(rsa_info(honest().n))), rsa_text(honest())


def test_the_same_content_is_read_once() -> None:
    materials = Materials()
    first = materials.pair(CHAIN, KEY), materials.authority(CA_PEM)
    materials.begin(KeyBounds())
    again = materials.pair(CHAIN, KEY), materials.authority(CA_PEM)
    assert all(one is other for one, other in zip(first, again, strict=True))


def test_what_a_translation_did_not_use_is_forgotten() -> None:
    materials = Materials()
    first = materials.pair(CHAIN, KEY)
    materials.begin(KeyBounds())
    materials.begin(KeyBounds())
    assert materials.pair(CHAIN, KEY) is not first


def test_other_bounds_judge_anew() -> None:
    materials = Materials()
    large = certificates(certificate(rsa_info((1 << 8191) + 1))), KEY
    with pytest.raises(UnusableMaterial, match="4096 bits"):
        materials.pair(*large)
    materials.begin(KeyBounds(8192))
    with pytest.raises(UnusableMaterial, match="another certificate"):
        materials.pair(*large)


def test_a_refusal_is_remembered_and_raised_anew() -> None:
    materials = Materials()
    problems = []
    for _ in range(2):
        with pytest.raises(UnusableMaterial) as problem:
            materials.pair(CHAIN, CHAIN)
        problems.append(problem.value)
    assert str(problems[0]) == str(problems[1])
    assert problems[0] is not problems[1]


def test_texts_are_told_apart_by_what_they_are_for_and_where_they_end() -> None:
    materials = Materials()
    assert materials.authority(CA_PEM) == materials.authority(CA_PEM, is_announced=True) == CA_PEM
    assert materials.revocation_lists(b"") == b""
    for chain, key in ((CHAIN + KEY, b""), (b"", CHAIN + KEY), (None, KEY)):
        with pytest.raises(UnusableMaterial):
            materials.pair(chain, key)
    assert materials.pair(CHAIN, KEY).names == {"one.test"}
    with pytest.raises(UnusableMaterial):
        materials.revocation_lists(CA_PEM)


def test_thousands_of_unchanged_keys_cost_little() -> None:
    materials = Materials()
    materials.pair(*RSA)
    started = time.process_time()
    for _ in range(1000):
        materials.begin(KeyBounds())
        materials.pair(*RSA)
    assert time.process_time() - started < 0.5  # a signature of each would take more than a second
