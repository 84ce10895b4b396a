"""Values about TLS towards endpoints."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ingress.settings.table.endpoint_tls import EndpointScheme, EndpointTlsOptions, backend_protocol, dns_name, on_off
from ingress.settings.values import HarmlessValue, InvalidValue
from tests.unit.ingress.said import said


def test_each_annotation_fills_its_field() -> None:
    texts = {
        "backend-protocol": "https",
        "proxy-ssl-secret": "shop/ca",
        "proxy-ssl-verify": "on",
        "proxy-ssl-name": "Cart.test",
        "proxy-ssl-server-name": "on",
    }
    expected = EndpointTlsOptions(
        scheme=EndpointScheme.HTTPS, secret="shop/ca", verify=True, name="cart.test", sends_name=True
    )
    assert said(texts).over(EndpointTlsOptions()) == expected


def test_another_protocol_is_known_but_not_carried_out() -> None:
    with pytest.raises(InvalidValue, match="supports HTTP, HTTPS, AUTO_HTTP, GRPC and GRPCS only"):
        backend_protocol("FCGI")


@pytest.mark.parametrize(
    ("protocol", "secure", "http2"),
    [("http", False, False), ("HTTPS", True, False), ("auto_http", True, False), ("GRPC", False, True),
     ("grpcs", True, True)],
)  # fmt: skip
def test_a_protocol_says_whether_endpoints_get_tls_and_http2(protocol: str, secure: bool, http2: bool) -> None:
    scheme = backend_protocol(protocol)
    assert (scheme.secure, scheme.http2) == (secure, http2)


@pytest.mark.parametrize(
    ("text", "is_harmless"), [("wrong", True), ("", True), ("h2", True), ("HTTPPS", False), ("FCGI", False)]
)
def test_a_word_that_is_no_protocol_is_harmless_unless_somebody_means_tls(text: str, is_harmless: bool) -> None:
    with pytest.raises(InvalidValue) as raised:
        backend_protocol(text)
    assert isinstance(raised.value, HarmlessValue) is is_harmless


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
        (dns_name, "a" * 64 + ".test"),
    ],
)
def test_values_that_do_not_parse(parse: Callable[[str], object], text: str) -> None:
    with pytest.raises(InvalidValue):
        parse(text)
