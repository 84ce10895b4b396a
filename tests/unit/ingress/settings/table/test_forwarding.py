"""Trusted proxies: what the ConfigMap says of them, and what that makes of the settings."""

from __future__ import annotations

import pytest

from balancer.model.settings import TrustedProxies
from ingress.findings import Severity
from ingress.settings.configmap import read_configmap

ON = {"use-forwarded-headers": "true"}
CIDR = {"proxy-real-ip-cidr": "10.1.2.3/8, 192.168.0.1"}
NETWORKS = ("10.0.0.0/8", "192.168.0.1/32")


def trusted(**config: str) -> TrustedProxies | None:
    return read_configmap({name.replace("_", "-"): value for name, value in config.items()})[0].proxy.trusted


@pytest.mark.parametrize(
    "config",
    [{}, CIDR, {"forwarded-for-header": "X"}, {"compute-full-forwarded-for": "true"}, {"use-forwarded-headers": "no"}],
)
def test_by_default_nobody_is_believed(config: dict[str, str]) -> None:
    assert read_configmap(config)[0].proxy.trusted is None


def test_the_named_proxies_are_believed() -> None:
    settings, findings = read_configmap({**ON, **CIDR})
    assert settings.proxy.trusted == TrustedProxies(NETWORKS, believes_all=True)
    assert findings == ()


@pytest.mark.parametrize("key", ["use-forwarded-headers", "enable-real-ip"])
@pytest.mark.parametrize("cidr", [{}, {"proxy-real-ip-cidr": ""}, {"proxy-real-ip-cidr": "0.0.0.0/0"}])
def test_without_networks_everybody_is_believed_and_a_finding_says_so(key: str, cidr: dict[str, str]) -> None:
    settings, (finding,) = read_configmap({key: "true", **cidr})
    assert settings.proxy.trusted is not None
    assert settings.proxy.trusted.networks == ("0.0.0.0/0",)
    assert (finding.reason, finding.severity) == ("TrustsEverybody", Severity.UNPROTECTED)


def test_the_address_alone() -> None:
    assert trusted(enable_real_ip="true", compute_full_forwarded_for="true", **CIDR) == TrustedProxies(NETWORKS)


def test_a_proxy_header_says_the_address_unless_all_fields_are_believed() -> None:
    alone = trusted(enable_real_ip="true", use_proxy_protocol="true", **CIDR)
    both = trusted(use_forwarded_headers="true", use_proxy_protocol="true", **CIDR)
    assert alone == TrustedProxies(NETWORKS, address_field="")
    assert both == TrustedProxies(NETWORKS, believes_all=True)


@pytest.mark.parametrize(
    ("said", "field"),
    [
        ("CF-Connecting-IP", "cf-connecting-ip"),
        (" X-Real-IP ", "x-real-ip"),
        ("", "x-forwarded-for"),
        ("proxy_protocol", ""),
    ],
)
def test_the_field_of_addresses(said: str, field: str) -> None:
    found = trusted(use_forwarded_headers="true", forwarded_for_header=said, **CIDR)
    assert found is not None
    assert found.address_field == field


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("proxy-real-ip-cidr", "nonsense"),
        ("proxy-real-ip-cidr", "10.0.0.0/8,lb.example"),
        ("forwarded-for-header", "X_FORWARDED_FOR"),
        ("forwarded-for-header", "X Forwarded"),
        ("forwarded-for-header", "X-\r\nY"),
    ],
)
def test_what_cannot_be_read_closes_every_path(key: str, value: str) -> None:
    settings, findings = read_configmap({**ON, **CIDR, key: value})
    assert settings.closed
    assert [finding.severity for finding in findings if finding.reason == "ClosedBySetting"] == [Severity.CLOSED]
