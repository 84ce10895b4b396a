"""Only a certificate that can be served reaches the model, and nothing of a Secret reaches a finding."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
import trustme
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import NameOID
from hypothesis import given
from hypothesis import strategies as st

from ingress.findings import Finding, Findings, Subject
from ingress.objects.kinds import KubernetesObject, Metadata, Secret
from ingress.settings.table.tls_keys import KeyBounds
from ingress.translation.secrets.certificates import Certificates, CertificateShelf
from tests.unit.ingress.cluster import inventory, tls_secret
from tests.unit.ingress.translation.secrets.material.hostile import (
    certificate,
    certificates,
    cheap,
    honest,
    rsa_info,
    rsa_text,
)

AUTHORITY = trustme.CA(key_type=trustme.KeyType.ECDSA)
EXPIRY = datetime(2040, 1, 1, tzinfo=UTC)


def issued(*names: str) -> tuple[bytes, bytes]:
    leaf = AUTHORITY.issue_cert(*names, not_after=EXPIRY, key_type=trustme.KeyType.ECDSA)
    return b"".join(blob.bytes() for blob in leaf.cert_chain_pems), leaf.private_key_pem.bytes()


SHOP, SHOP_KEY = issued("shop.test", "*.shop.test")
OTHER, OTHER_KEY = issued("other.test")
GARBAGE = b"-----BEGIN CERTIFICATE-----\nhunter2\n-----END CERTIFICATE-----\n"


class Asking:
    """Certificates over some objects, and what was found."""

    def __init__(self, *objects: KubernetesObject, shelf: CertificateShelf | None = None) -> None:
        self._findings = Findings()
        self.certificates = Certificates(inventory(*objects), shelf or CertificateShelf())

    def key(self, host: str = "shop.test", secret: str = "shop/t") -> str | None:
        report = self._findings.about(Subject("Ingress", "shop", "web"))
        return self.certificates.resolve(secret, host, report=report)

    @property
    def findings(self) -> tuple[Finding, ...]:
        return self._findings.frozen()


def test_a_matching_pair_is_served_with_its_expiry() -> None:
    asking = Asking(tls_secret("t", SHOP, SHOP_KEY))
    assert asking.key() == "shop/t"
    (certificate,) = asking.certificates.used()
    assert (certificate.key, certificate.chain_pem, certificate.private_key_pem) == ("shop/t", SHOP, SHOP_KEY)
    assert certificate.expires_at_epoch_seconds == EXPIRY.timestamp()
    assert asking.findings == ()


@pytest.mark.parametrize("host", ["shop.test", "a.shop.test", "*.shop.test", ""])
def test_hosts_that_the_certificate_covers(host: str) -> None:
    assert Asking(tls_secret("t", SHOP, SHOP_KEY)).key(host) == "shop/t"


@pytest.mark.parametrize("host", ["other.test", "a.b.shop.test", "test", "*.test"])
def test_hosts_that_it_does_not_cover(host: str) -> None:
    asking = Asking(tls_secret("t", SHOP, SHOP_KEY))
    assert asking.key(host) is None
    assert asking.certificates.used() == ()
    assert "is not for" in asking.findings[0].message


@pytest.mark.parametrize(
    "secret",
    [
        Secret(Metadata("t", "shop")),
        Secret(Metadata("t", "shop"), {"tls.crt": "%%%", "tls.key": "%%%"}),
        tls_secret("t", SHOP, b""),
        tls_secret("t", b"", SHOP_KEY),
        tls_secret("t", GARBAGE, SHOP_KEY),
        tls_secret("t", SHOP, GARBAGE),
        tls_secret("t", SHOP, OTHER_KEY),
        tls_secret("t", SHOP_KEY, SHOP),
        tls_secret("other", SHOP, SHOP_KEY),
        tls_secret("t", SHOP, SHOP_KEY, namespace="other"),
    ],
)
def test_a_secret_that_cannot_be_served_is_a_finding_that_shows_nothing_of_it(secret: Secret) -> None:
    asking = Asking(secret)
    assert asking.key() is None
    (finding,) = asking.findings
    assert finding.reason == "CertificateUnusable"
    assert "hunter2" not in finding.message
    assert "BEGIN" not in finding.message


def test_a_common_name_is_no_host_name() -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "shop.test")])
    builder = x509.CertificateBuilder(name, name, key.public_key(), 1, EXPIRY - timedelta(days=1), EXPIRY)
    chain = builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    private_key = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain)
    asking = Asking(tls_secret("t", chain, private_key))
    assert asking.key("shop.test") is None
    assert asking.key("") == "shop/t"


def test_a_changed_secret_is_read_again_and_an_unchanged_one_is_not() -> None:
    shelf = CertificateShelf()
    first = shelf.read("shop/t", tls_secret("t", SHOP, SHOP_KEY))
    assert shelf.read("shop/t", tls_secret("t", SHOP, SHOP_KEY)) is first
    changed = shelf.read("shop/t", tls_secret("t", OTHER, OTHER_KEY))
    assert changed.names == {"other.test"}


def test_the_shelf_forgets_what_nobody_asked_for() -> None:
    shelf = CertificateShelf()
    secrets = tls_secret("t", SHOP, SHOP_KEY), tls_secret("u", OTHER, OTHER_KEY)
    before = [shelf.read(f"shop/{secret.metadata.name}", secret) for secret in secrets]
    asking = Asking(*secrets, shelf=shelf)
    asking.key()
    asking.certificates.used()
    assert shelf.read("shop/t", secrets[0]) is before[0]
    assert shelf.read("shop/u", secrets[1]) is not before[1]


@given(st.binary(max_size=60), st.integers(0, 600), st.booleans())
def test_no_bytes_raise(noise: bytes, place: int, in_key: bool) -> None:
    chain = SHOP if in_key else SHOP[:place] + noise + SHOP[place:]
    key = SHOP_KEY[: place % 200] + noise + SHOP_KEY[place % 200 :] if in_key else SHOP_KEY
    Asking(tls_secret("t", chain, key)).key()


def test_a_secret_that_breaks_keeps_its_last_good_certificate_and_says_so() -> None:
    shelf = CertificateShelf()
    assert Asking(tls_secret("t", SHOP, SHOP_KEY), shelf=shelf).key() == "shop/t"
    for broken in (tls_secret("t", GARBAGE, SHOP_KEY), tls_secret("t", SHOP, OTHER_KEY), Secret(Metadata("t", "shop"))):
        asking = Asking(broken, shelf=shelf)
        assert asking.key() == "shop/t"
        assert asking.certificates.used()[0].chain_pem == SHOP
        (finding,) = asking.findings
        assert (finding.reason, finding.effect) == (
            "CertificateUnusable",
            "The last certificate that could be read is used.",
        )
    mended = Asking(tls_secret("t", OTHER, OTHER_KEY), shelf=shelf)
    assert mended.key("other.test") == "shop/t"
    assert mended.findings == ()


def test_a_secret_that_was_deleted_is_not_remembered() -> None:
    shelf = CertificateShelf()
    Asking(tls_secret("t", SHOP, SHOP_KEY), shelf=shelf).key()
    assert Asking(shelf=shelf).key() is None
    assert Asking(tls_secret("t", GARBAGE, SHOP_KEY), shelf=shelf).key() is None


def test_a_weak_key_is_refused() -> None:
    key = rsa.generate_private_key(public_exponent=65537, key_size=1024)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "shop.test")])
    builder = x509.CertificateBuilder(name, name, key.public_key(), 1, EXPIRY - timedelta(days=1), EXPIRY)
    chain = builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    asking = Asking(tls_secret("t", chain, key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain)))
    assert asking.key("") is None
    assert "2048" in asking.findings[0].message


@pytest.mark.parametrize(("seconds_left", "expected"), [(1.0, 0), (-1.0, 1)])
def test_an_expired_certificate_is_served_and_that_is_said(seconds_left: float, expected: int) -> None:
    findings = Findings()
    certificates = Certificates(
        inventory(tls_secret("t", SHOP, SHOP_KEY)),
        CertificateShelf(),
        now_epoch_seconds=EXPIRY.timestamp() - seconds_left,
    )
    report = findings.about(Subject("Ingress", "shop", "web"))
    assert certificates.resolve("shop/t", "shop.test", report=report) == "shop/t"
    said = [finding.message for finding in findings.frozen()]
    assert said == ["Secret shop/t holds a certificate that has expired: renew it."] * expected


def test_hostile_material_is_a_finding_that_names_the_bound() -> None:
    numbers = honest()
    hostile = numbers._replace(dp=numbers.dp + (numbers.p - 1) * (1 << 2_000_000))
    owner = certificates(certificate(rsa_info(numbers.n)))
    for chain, key, bound in (
        (owner, rsa_text(hostile), "32 KiB"),
        (SHOP * 11, SHOP_KEY, "10 is the most"),
        (SHOP + certificates(*[certificate(rsa_info(numbers.n), filling=30_000)] * 10), SHOP_KEY, "128 KiB"),
        (certificates(certificate(rsa_info((1 << 8191) + 1))), SHOP_KEY, "4096 bits"),
    ):
        asking = Asking(tls_secret("t", chain, key))
        with cheap():
            assert asking.key("") is None
        assert bound in asking.findings[0].message


@pytest.mark.large
def test_a_lower_bound_withdraws_a_key_that_was_good() -> None:
    numbers, shelf = honest(3072), CertificateShelf()
    secret = tls_secret("t", certificates(certificate(rsa_info(numbers.n))), rsa_text(numbers))
    assert Asking(secret, shelf=shelf).key("") == "shop/t"
    shelf.materials.begin(KeyBounds(2048))
    asking = Asking(secret, shelf=shelf)
    assert asking.key("") is None
    assert "2048 bits" in asking.findings[0].message
