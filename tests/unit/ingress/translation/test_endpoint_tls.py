"""TLS towards endpoints as annotations ask for it: nothing is silently unverified, and a Secret that fails denies."""

from __future__ import annotations

import base64
import ssl
from collections.abc import Callable

import pytest
import trustme

from balancer.model import EndpointTls
from ingress.findings import Finding, Findings, Subject
from ingress.objects import Metadata, Secret
from ingress.translation.endpoint_tls import (
    ENDPOINT_ROWS,
    SECTION,
    Denied,
    backend_protocol,
    dns_name,
    on_off,
    read_endpoint_tls,
    virtual_host,
)
from ingress.values import Draft, InvalidValue, ValueNotCarriedOut
from tests.unit.ingress.cluster import inventory

CA_PEM = trustme.CA(key_type=trustme.KeyType.ECDSA).cert_pem.bytes()


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
    draft: Draft = {}
    for name, text in annotations.items():
        ENDPOINT_ROWS[name.replace("_", "-")].fill(draft, text)
    findings = Findings()
    report = findings.about(Subject("Ingress", "shop", "web"))
    try:
        tls = read_endpoint_tls(draft[SECTION], namespace="shop", inventory=inventory(*secrets), report=report)
    except Denied:
        assert "503" in findings.frozen()[-1].effect
        raise
    return tls, findings.frozen()


def test_https_alone_takes_any_certificate() -> None:
    assert read(backend_protocol="HTTPS") == (EndpointTls(), ())
    assert read(backend_protocol="HTTP") == (None, ())


def test_verification_trusts_the_secret_and_sends_the_name_it_verifies() -> None:
    asked = {"backend_protocol": "https", "proxy_ssl_secret": "shop/ca", "proxy_ssl_verify": "on"}
    ca = secret(ca_crt=CA_PEM)
    assert read(ca, **asked) == (EndpointTls(verify=True, ca_pem=CA_PEM), ())
    expected = EndpointTls(verify=True, server_name="cart.test", ca_pem=CA_PEM)
    assert read(ca, **asked, proxy_ssl_name="Cart.test") == (expected, ())


def test_the_name_is_sent_without_verification_where_it_is_asked_for() -> None:
    asked = {"backend_protocol": "HTTPS", "proxy_ssl_secret": "ca", "proxy_ssl_name": "cart.test"}
    ca = secret(ca_crt=CA_PEM)
    assert read(ca, **asked)[0] == EndpointTls(ca_pem=CA_PEM)
    named = EndpointTls(server_name="cart.test", ca_pem=CA_PEM)
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
        ("ca", secret(ca_crt=b"hunter2")),
        ("ca", secret(ca_crt=of_version_6())),
    ],
)
@pytest.mark.parametrize("protocol", ["HTTP", "HTTPS"])
def test_a_secret_that_cannot_be_read_denies(reference: str, stored: Secret, protocol: str) -> None:
    with pytest.raises(Denied):
        read(stored, backend_protocol=protocol, proxy_ssl_secret=reference)


def test_more_roots_than_anybody_needs_deny() -> None:
    bundle = CA_PEM * (256 * 1024 // len(CA_PEM) + 1)
    with pytest.raises(Denied):
        read(secret(ca_crt=bundle), backend_protocol="HTTPS", proxy_ssl_secret="ca")


def test_a_client_certificate_is_not_carried_out_and_that_is_said() -> None:
    tls, (finding,) = read(secret(ca_crt=CA_PEM, tls_crt=CA_PEM), backend_protocol="HTTPS", proxy_ssl_secret="ca")
    assert tls == EndpointTls(ca_pem=CA_PEM)
    assert finding.reason == "NotCarriedOut"


@pytest.mark.parametrize("protocol", ["GRPC", "grpcs", "FCGI", "auto_http"])
def test_other_protocols_are_known_but_not_carried_out(protocol: str) -> None:
    with pytest.raises(ValueNotCarriedOut):
        backend_protocol(protocol)


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        (backend_protocol, "h2"),
        (backend_protocol, ""),
        (on_off, "ON"),
        (on_off, "true"),
        (dns_name, "*.cart.test"),
        (dns_name, "cart.test:80"),
        (dns_name, ""),
        (virtual_host, ""),
        (virtual_host, "$host"),
        (virtual_host, "cart.test\r\nX: y"),
        (virtual_host, "cart.test:"),
        (virtual_host, "cart.test:http"),
        (virtual_host, "cart.test/x"),
    ],
)
def test_values_that_do_not_parse(parse: Callable[[str], object], text: str) -> None:
    with pytest.raises(InvalidValue):
        parse(text)


@pytest.mark.parametrize("text", ["cart.test", "Cart.test:8080", "10.0.0.1"])
def test_a_virtual_host_is_sent_as_it_is_written(text: str) -> None:
    assert virtual_host(text) == text
