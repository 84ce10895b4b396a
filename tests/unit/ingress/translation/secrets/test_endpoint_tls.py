"""TLS towards endpoints as annotations ask for it: nothing is silently unverified, and a Secret that fails denies."""

from __future__ import annotations

import base64
import ssl

import msgspec
import pytest
import trustme

from balancer.model.certificates import Authority, ClientCertificate
from balancer.model.endpoints import EndpointTls
from ingress.findings import Finding, Findings, Subject
from ingress.objects.kinds import Metadata, Secret
from ingress.settings.table.endpoint_tls import EndpointTlsOptions
from ingress.translation.denying import Denied
from ingress.translation.references import References
from ingress.translation.secrets.endpoint_tls import read_endpoint_tls, with_secrets
from ingress.translation.secrets.materials import Materials
from tests import builders as build
from tests.unit.ingress.cluster import inventory
from tests.unit.ingress.said import said
from tests.unit.ingress.translation.secrets.material.hostile import certificate, certificates, rsa_info

AUTHORITY = trustme.CA(key_type=trustme.KeyType.ECDSA)
CA_PEM = AUTHORITY.cert_pem.bytes()
SHOWN = AUTHORITY.issue_cert("zonal.test", key_type=trustme.KeyType.ECDSA)
CHAIN_PEM, KEY_PEM = SHOWN.cert_chain_pems[0].bytes(), SHOWN.private_key_pem.bytes()


def of_version_6() -> bytes:
    """A certificate of a version that does not exist, which is the only thing wrong with it."""
    der = ssl.PEM_cert_to_DER_cert(CA_PEM.decode())
    version_3 = bytes.fromhex("a003020102")
    assert version_3 in der
    return ssl.DER_cert_to_PEM_cert(der.replace(version_3, bytes.fromhex("a003020105"), 1)).encode()


def secret(namespace: str = "shop", **data: bytes) -> Secret:
    encoded = {key.replace("_", "."): base64.b64encode(value).decode() for key, value in data.items()}
    return Secret(Metadata("ca", namespace), encoded)


def read(*secrets: Secret, **annotations: str) -> tuple[EndpointTls | None, tuple[Finding, ...]]:
    """What annotations (`_` for `-`) of an Ingress in `shop` come to."""
    options = said({name.replace("_", "-"): text for name, text in annotations.items()}).over(EndpointTlsOptions())
    findings = Findings()
    report = findings.about(Subject("Ingress", "shop", "web"))
    try:
        tls = read_endpoint_tls(
            options,
            references=References("shop"),
            inventory=inventory(*secrets),
            materials=Materials(),
            report=report,
        )
    except Denied:
        assert "503" in findings.frozen()[-1].effect
        raise
    return tls, findings.frozen()


def test_https_alone_takes_any_certificate() -> None:
    assert read(backend_protocol="HTTPS") == (EndpointTls(), ())
    assert read(backend_protocol="HTTP") == (None, ())
    assert read(backend_protocol="GRPC") == (None, ())
    assert read(backend_protocol="GRPCS") == (EndpointTls(), ())
    assert read() == (None, ())
    assert read(backend_protocol="auto_http") == (EndpointTls(follows_client=True), ())
    assert EndpointTls(follows_client=True).way != EndpointTls().way


def test_verification_trusts_the_secret_and_sends_the_name_it_verifies() -> None:
    asked = {"backend_protocol": "https", "proxy_ssl_secret": "shop/ca", "proxy_ssl_verify": "on"}
    ca = secret(ca_crt=CA_PEM)
    assert read(ca, **asked) == (EndpointTls(verify=True, authority="shop/ca"), ())
    expected = EndpointTls(verify=True, server_name="cart.test", authority="shop/ca")
    assert read(ca, **asked, proxy_ssl_name="Cart.test") == (expected, ())


def test_versions_ciphers_and_depth_count_beside_the_secret_alone() -> None:
    asked = {
        "backend_protocol": "HTTPS",
        "proxy_ssl_protocols": "TLSv1.3",
        "proxy_ssl_ciphers": "ECDHE-RSA-AES128-GCM-SHA256",
        "proxy_ssl_verify_depth": "3",
    }
    held = {"proxy_ssl_secret": "ca"}
    ca, ciphers = secret(ca_crt=CA_PEM), "ECDHE-RSA-AES128-GCM-SHA256"
    assert read(**asked)[0] == EndpointTls()
    expected = EndpointTls(authority="shop/ca", oldest="TLSv1_3", ciphers=ciphers)
    assert read(ca, **asked, **held)[0] == expected
    verified = msgspec.structs.replace(expected, verify=True, intermediates=3)
    assert read(ca, **asked, **held, proxy_ssl_verify="on")[0] == verified
    assert len({each.way for each in (EndpointTls(authority="shop/ca"), expected, verified)}) == 3


def test_the_name_is_sent_without_verification_where_it_is_asked_for() -> None:
    asked = {"backend_protocol": "HTTPS", "proxy_ssl_secret": "ca", "proxy_ssl_name": "cart.test"}
    ca = secret(ca_crt=CA_PEM)
    assert read(ca, **asked)[0] == EndpointTls(authority="shop/ca")
    named = EndpointTls(server_name="cart.test", authority="shop/ca")
    assert read(ca, **asked, proxy_ssl_server_name="on")[0] == named


def test_without_a_secret_the_name_does_not_count_and_that_is_said() -> None:
    tls, (finding,) = read(backend_protocol="HTTPS", proxy_ssl_name="cart.test", proxy_ssl_server_name="on")
    assert tls == EndpointTls()
    assert finding.reason == "SecretNeeded"


def test_verification_without_a_secret_denies() -> None:
    with pytest.raises(Denied):
        read(backend_protocol="HTTPS", proxy_ssl_verify="on")


@pytest.mark.parametrize(
    ("reference", "stored"),
    [
        ("ca", secret("other", ca_crt=CA_PEM)),
        ("other/ca", secret("other", ca_crt=CA_PEM)),
        ("shop/missing", secret(ca_crt=CA_PEM)),
        ("", secret(ca_crt=CA_PEM)),
        ("a/b/ca", secret(ca_crt=CA_PEM)),
        ("ca", secret(tls_crt=CA_PEM)),
        ("ca", secret(ca_crt=CA_PEM, tls_crt=CHAIN_PEM)),
        ("ca", secret(ca_crt=CA_PEM, tls_key=KEY_PEM)),
        ("ca", secret(ca_crt=CA_PEM, tls_crt=CHAIN_PEM, tls_key=b"hunter2")),
        ("ca", secret(ca_crt=CA_PEM, tls_crt=CA_PEM, tls_key=KEY_PEM)),
        ("ca", secret()),
        ("ca", secret(ca_crt=b"hunter2")),
        ("ca", secret(ca_crt=of_version_6())),
        ("ca", secret(ca_crt=CA_PEM + certificates(certificate(rsa_info((1 << 16383) + 1))))),
        ("ca", secret(tls_crt=CHAIN_PEM * 11, tls_key=KEY_PEM)),
    ],
)
@pytest.mark.parametrize("protocol", ["HTTP", "HTTPS"])
def test_a_secret_that_cannot_be_read_denies(reference: str, stored: Secret, protocol: str) -> None:
    with pytest.raises(Denied):
        read(stored, backend_protocol=protocol, proxy_ssl_secret=reference)


def test_another_namespace_counts_where_the_operator_allows_it() -> None:
    options = said({"backend-protocol": "HTTPS", "proxy-ssl-secret": "other/ca"}).over(EndpointTlsOptions())
    known, report = inventory(secret("other", ca_crt=CA_PEM)), Findings().about(Subject("Ingress", "shop", "web"))
    allowing = References("shop", others_allowed=True)
    tls = read_endpoint_tls(options, references=allowing, inventory=known, materials=Materials(), report=report)
    assert tls == EndpointTls(authority="other/ca")


def test_more_roots_than_anybody_needs_deny() -> None:
    bundle = CA_PEM * (256 * 1024 // len(CA_PEM) + 1)
    with pytest.raises(Denied):
        read(secret(ca_crt=bundle), backend_protocol="HTTPS", proxy_ssl_secret="ca")


def test_a_longer_client_certificate_than_anybody_needs_denies() -> None:
    chain = CHAIN_PEM * (256 * 1024 // len(CHAIN_PEM) + 1)
    with pytest.raises(Denied):
        read(secret(tls_crt=chain, tls_key=KEY_PEM), backend_protocol="HTTPS", proxy_ssl_secret="ca")


def test_a_certificate_in_the_secret_is_shown_to_endpoints() -> None:
    asked = {"backend_protocol": "HTTPS", "proxy_ssl_secret": "ca"}
    alone = EndpointTls(client_certificate="shop/ca")
    assert read(secret(tls_crt=CHAIN_PEM, tls_key=KEY_PEM), **asked) == (alone, ())
    beside_roots = msgspec.structs.replace(alone, authority="shop/ca")
    assert read(secret(ca_crt=CA_PEM, tls_crt=CHAIN_PEM, tls_key=KEY_PEM), **asked) == (beside_roots, ())


def test_verification_needs_roots_beside_a_client_certificate() -> None:
    stored = secret(tls_crt=CHAIN_PEM, tls_key=KEY_PEM)
    with pytest.raises(Denied):
        read(stored, backend_protocol="HTTPS", proxy_ssl_secret="ca", proxy_ssl_verify="on")


def test_the_model_gets_each_usable_secret_that_backends_name_once_by_key() -> None:
    stored = inventory(
        secret("web", ca_crt=CA_PEM + b"words"),
        secret("bad", ca_crt=b"bad", tls_crt=CHAIN_PEM),
        secret(ca_crt=CA_PEM, tls_crt=CHAIN_PEM, tls_key=KEY_PEM),
    )
    ways = (
        None,
        EndpointTls(),
        EndpointTls(verify=True, authority="web/ca"),
        EndpointTls(verify=True, authority="bad/ca", client_certificate="bad/ca"),
        EndpointTls(verify=True, authority="shop/ca", client_certificate="shop/ca"),
        EndpointTls(authority="shop/ca", client_certificate="shop/ca"),
    )
    backends = [msgspec.structs.replace(build.backend(), tls=way) for way in ways]
    model = with_secrets(build.model(*backends), stored, Materials())
    assert model.authorities == (Authority("shop/ca", CA_PEM), Authority("web/ca", CA_PEM))
    assert model.client_certificates == (ClientCertificate("shop/ca", CHAIN_PEM, KEY_PEM),)
