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


@pytest.mark.parametrize("protocol", ["GRPC", "grpcs", "FCGI"])
def test_other_protocols_are_known_but_not_carried_out(protocol: str) -> None:
    with pytest.raises(InvalidValue, match="supports HTTP, HTTPS and AUTO_HTTP only"):
        backend_protocol(protocol)


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
    ],
)
def test_values_that_do_not_parse(parse: Callable[[str], object], text: str) -> None:
    with pytest.raises(InvalidValue):
        parse(text)
