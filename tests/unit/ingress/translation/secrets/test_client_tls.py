"""Certificates of clients as annotations ask for them: a Secret that cannot be used closes the hosts."""

from __future__ import annotations

import base64
import datetime
from typing import Any

import pytest
import trustme
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.serialization import Encoding, load_pem_private_key

from balancer.model.client_tls import ClientDemand, ClientVerification
from ingress.findings import Finding, Findings, Severity, Subject
from ingress.objects.kinds import Metadata, Secret
from ingress.settings.table.client_tls import ClientTlsOptions
from ingress.translation.claims import ClientTlsClaim
from ingress.translation.denying import Denied
from ingress.translation.references import References
from ingress.translation.secrets.client_tls import read_client_tls
from ingress.translation.secrets.materials import Materials
from tests.unit.ingress.cluster import inventory
from tests.unit.ingress.said import said
from tests.unit.ingress.translation.secrets.material.hostile import certificate, certificates, rsa_info

AUTHORITY = trustme.CA(key_type=trustme.KeyType.ECDSA)
CA_PEM = AUTHORITY.cert_pem.bytes()


def revocation_list() -> bytes:
    now = datetime.datetime.now(datetime.UTC)
    issuer = x509.load_pem_x509_certificate(CA_PEM).subject
    made = x509.CertificateRevocationListBuilder().issuer_name(issuer)
    made = made.last_update(now).next_update(now + datetime.timedelta(days=1))
    key = load_pem_private_key(AUTHORITY.private_key_pem.bytes(), password=None)
    return made.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM)  # type: ignore[arg-type]


CRL_PEM = revocation_list()


def secret(namespace: str = "shop", **data: bytes) -> Secret:
    encoded = {key.replace("_", "."): base64.b64encode(value).decode() for key, value in data.items()}
    return Secret(Metadata("clients", namespace), encoded)


def read(
    *secrets: Secret, other_namespaces: bool = False, **annotations: Any
) -> tuple[ClientTlsClaim | None, tuple[Finding, ...]]:
    """What annotations (`_` for `-`, without `auth-tls-`) of an Ingress in `shop` come to."""
    texts = {f"auth-tls-{name.replace('_', '-')}": text for name, text in annotations.items()}
    findings = Findings()
    claim = read_client_tls(
        said(texts).over(ClientTlsOptions()),
        references=References("shop", others_allowed=other_namespaces),
        inventory=inventory(*secrets),
        materials=Materials(),
        report=findings.about(Subject("Ingress", "shop", "web")),
    )
    return claim, findings.frozen()


def demand(*secrets: Secret, **annotations: Any) -> ClientDemand:
    claim, findings = read(*secrets, **({"secret": "shop/clients"} | annotations))
    assert findings == ()
    assert claim is not None
    assert claim.rule is not None
    return claim.rule.demand


def test_without_annotations_nothing_is_asked() -> None:
    assert read() == (None, ())
    assert read(verify_client="off", verify_depth="3", pass_certificate_to_upstream="true") == (None, ())
    assert read(verify_client="optional") == (None, ())


def test_the_demand_is_that_of_the_annotations() -> None:
    held = secret(ca_crt=CA_PEM)
    plain = demand(held)
    assert (plain.host, plain.authority, plain.depth) == ("", "shop/clients", 1)
    assert plain.verification is ClientVerification.ON
    other = demand(held, verify_client="optional_no_ca", verify_depth="2")
    assert (other.verification, other.depth) == (ClientVerification.OPTIONAL_NO_CA, 2)


def test_another_content_is_another_demand() -> None:
    plain, listed = demand(secret(ca_crt=CA_PEM)), demand(secret(ca_crt=CA_PEM, ca_crl=CRL_PEM))
    other = demand(secret(ca_crt=CA_PEM + trustme.CA().cert_pem.bytes()))
    assert len({plain.digest, listed.digest, other.digest}) == 3
    assert demand(secret(ca_crt=CA_PEM)).digest == plain.digest


@pytest.mark.parametrize(
    ("secrets", "reference"),
    [
        ((), "shop/clients"),
        ((secret(ca_crt=CA_PEM),), "clients"),
        ((secret(tls_crt=CA_PEM),), "shop/clients"),
        ((secret(ca_crt=b""),), "shop/clients"),
        ((secret(ca_crt=b"nonsense"),), "shop/clients"),
        ((secret(ca_crt=CA_PEM + b"x" * 300_000),), "shop/clients"),
        ((secret(ca_crt=CA_PEM + certificates(certificate(rsa_info((1 << 16383) + 1)))),), "shop/clients"),
        ((secret(ca_crt=CA_PEM, ca_crl=b"nonsense"),), "shop/clients"),
        ((secret(ca_crt=CA_PEM, ca_crl=b""),), "shop/clients"),
        ((secret("other", ca_crt=CA_PEM),), "other/clients"),
        ((Secret(Metadata("clients", "shop"), {"ca.crt": "not base64"}),), "shop/clients"),
    ],
)
def test_a_secret_that_cannot_be_used_closes_the_hosts(secrets: tuple[Secret, ...], reference: str) -> None:
    for verification in ("on", "off", "optional"):
        claim, (finding,) = read(*secrets, secret=reference, verify_client=verification)
        assert claim == ClientTlsClaim(None)
        assert (finding.reason, finding.severity) == ("ClientTlsDenied", Severity.CLOSED)


def test_another_namespace_counts_where_the_operator_allows_it() -> None:
    claim, findings = read(secret("other", ca_crt=CA_PEM), other_namespaces=True, secret="other/clients")
    assert findings == ()
    assert claim is not None
    assert claim.rule is not None
    assert claim.rule.demand.authority == "other/clients"


@pytest.mark.parametrize("stored", [(), (secret("other", tls_crt=CA_PEM),), (secret("other", ca_crt=b"nonsense"),)])
def test_nothing_is_told_of_a_secret_of_another_namespace(stored: tuple[Secret, ...]) -> None:
    claim, (finding,) = read(*stored, other_namespaces=True, secret="other/clients")
    assert claim == ClientTlsClaim(None)
    expected = 'auth-tls-secret "other/clients" cannot be used: whoever runs namespace other can say why.'
    assert finding.message == expected


@pytest.mark.parametrize("annotations", [{"verify_client": "on"}, {"match_cn": "CN=alice"}])
def test_a_demand_without_a_secret_closes_the_ingress(annotations: dict[str, Any]) -> None:
    with pytest.raises(Denied):
        read(**annotations)
