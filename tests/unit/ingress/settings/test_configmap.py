"""The ConfigMap becomes one typed tree; what does not parse leaves the default."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.model.endpoints import Ejection, LoadBalancing
from balancer.model.policies import RoutePolicy
from balancer.model.settings import ProxySettings
from balancer.model.zones import Zone, ZonePolicyName, ZonePrices
from ingress.findings import Severity, Subject
from ingress.settings.configmap import read_configmap
from ingress.settings.table.backends import BackendSettings
from ingress.settings.table.cluster import ClusterSettings
from ingress.settings.table.redirects import Redirects
from ingress.settings.table.whole import CONFIGMAP_OPTIONS
from ingress.settings.table.zones import ZoneFactSettings, ZoneSettings
from ingress.settings.zone_values import PolicyChoice, Toll, ZoneDrain


def test_without_keys_everything_is_as_documented() -> None:
    settings, findings = read_configmap({})
    assert findings == ()
    assert settings == ClusterSettings()
    assert settings.zone_aware_routing is False
    assert settings.redirects.ssl_redirect is True
    assert settings.redirects.force_ssl_redirect is False
    assert settings.zones == ZoneSettings(PolicyChoice(), min_endpoints=1, min_percent=0, toll=Toll(0.05, 0.0005))
    assert settings.zone_facts == ZoneFactSettings((), 30.0, ZonePrices(0.02))
    assert settings.proxy == ProxySettings()
    assert settings.route_policy == RoutePolicy()


def test_the_flag_and_the_zone_keys() -> None:
    settings, findings = read_configmap(
        {
            "zone-aware-routing": "true",
            "zone-policy": "off",
            "zone-min-endpoints": "2",
            "zone-min-percent": "30",
            "zone-drain": "zone-b, zone-a",
            "zone-drain-ramp": "1m",
            "zone-transfer-prices": "0.01",
        }
    )
    assert findings == ()
    assert settings.zone_aware_routing is True
    assert settings.zones == ZoneSettings(PolicyChoice(ZonePolicyName.OFF), min_endpoints=2, min_percent=30)
    assert settings.zone_facts == ZoneFactSettings(
        (ZoneDrain(Zone("zone-a")), ZoneDrain(Zone("zone-b"))), 60.0, ZonePrices(0.01)
    )


def test_the_defaults_of_routes() -> None:
    settings, _ = read_configmap(
        {
            "proxy-connect-timeout": "1",
            "proxy-read-timeout": "2",
            "proxy-send-timeout": "3",
            "proxy-body-size": "8m",
            "proxy-next-upstream-tries": "4",
            "ssl-redirect": "false",
            "force-ssl-redirect": "true",
        }
    )
    assert settings.route_policy == RoutePolicy(
        connect_timeout_seconds=1.0,
        read_timeout_seconds=2.0,
        send_timeout_seconds=3.0,
        max_body_bytes=8 * 1024**2,
        tries=4,
    )
    assert settings.redirects == Redirects(ssl_redirect=False, force_ssl_redirect=True)


def test_how_backends_are_kept() -> None:
    settings, findings = read_configmap({"ejection-5xx": "true", "load-balance": "least_request"})
    assert findings == ()
    assert settings.backend == BackendSettings(
        ejection=Ejection(on_5xx=True), load_balancing=LoadBalancing.LEAST_REQUEST
    )


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({}, ("error", "timeout")),
        ({"proxy-next-upstream": "http_502 error"}, ("error", "http_502")),
        ({"proxy-next-upstream": "off"}, ("off",)),
        ({"retry-non-idempotent": "true"}, ("error", "non_idempotent", "timeout")),
        ({"retry-non-idempotent": "true", "proxy-next-upstream": "error"}, ("error", "non_idempotent")),
        ({"retry-non-idempotent": "false"}, ("error", "timeout")),
    ],
)
def test_when_another_endpoint_is_tried(data: dict[str, str], words: tuple[str, ...]) -> None:
    settings, findings = read_configmap(data)
    assert findings == ()
    assert settings.route_policy == RoutePolicy(retry_on=words)


def test_the_settings_of_the_proxy() -> None:
    settings, findings = read_configmap(
        {
            "client-header-timeout": "1",
            "client-body-timeout": "2",
            "keep-alive": "0",
            "keep-alive-requests": "3",
            "large-client-header-buffers": "2 16k",
            "upstream-keepalive-connections": "4",
            "upstream-keepalive-timeout": "5",
            "upstream-keepalive-requests": "6",
            "enable-underscores-in-headers": "true",
            "generate-request-id": "false",
        }
    )
    assert findings == ()
    assert settings.proxy == ProxySettings(
        client_header_timeout_seconds=1.0,
        client_body_timeout_seconds=2.0,
        keep_alive_seconds=0.0,
        keep_alive_requests=3,
        head_line_bytes=16 * 1024,
        head_bytes=32 * 1024,
        endpoint_idle_connections=4,
        endpoint_idle_seconds=5.0,
        endpoint_requests=6,
        underscores_in_headers=True,
        generate_request_id=False,
    )


@pytest.mark.parametrize(
    ("data", "header"),
    [
        ({}, "max-age=31536000; includeSubDomains"),
        ({"hsts": "false", "hsts-preload": "true"}, None),
        ({"hsts-max-age": "60"}, "max-age=60; includeSubDomains"),
        ({"hsts-include-subdomains": "false"}, "max-age=31536000"),
        ({"hsts-preload": "true"}, "max-age=31536000; includeSubDomains; preload"),
    ],
)
def test_the_four_hsts_keys_make_one_header(data: dict[str, str], header: str | None) -> None:
    assert read_configmap(data)[0].proxy.hsts == header


def test_a_value_that_does_not_parse_is_a_finding_and_the_default_stays() -> None:
    settings, (finding,) = read_configmap(
        {"zone-aware-routing": "yes", "keep-alive": "10"}, Subject("ConfigMap", "z", "c")
    )
    assert settings.zone_aware_routing is False
    assert settings.proxy.keep_alive_seconds == 10.0
    assert (finding.namespace, finding.name, finding.reason) == ("z", "c", "InvalidValue")
    assert finding.message == 'zone-aware-routing is "yes": use "true" or "false".'


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        ("zone-aware-ruting", "true", "UnknownKey"),
        ("enable-ocsp", "true", "NotSupported"),
        ("zone-drain", "zone b", "InvalidValue"),
        ("zone-policy", "nearest", "InvalidValue"),
        ("zone-toll", "5", "InvalidValue"),
        ("zone-transfer-prices", "free", "InvalidValue"),
    ],
)
def test_what_has_no_effect_is_said(key: str, value: str, reason: str) -> None:
    settings, (finding,) = read_configmap({key: value})
    assert settings == ClusterSettings()
    assert finding.reason == reason


@given(st.dictionaries(st.sampled_from(sorted(CONFIGMAP_OPTIONS)) | st.text(), st.text(), max_size=6))
def test_no_configmap_raises_and_each_bad_value_is_reported(data: dict[str, str]) -> None:
    settings, findings = read_configmap(data)
    assert settings.proxy.keep_alive_requests >= 1
    assert len(findings) <= len(data)
    assert all(finding.message.isprintable() for finding in findings)


def test_a_protection_that_is_not_supported_closes_everything() -> None:
    settings, (finding,) = read_configmap({"enable-modsecurity": "true"})
    assert settings == ClusterSettings(closed=True)
    assert (finding.reason, finding.severity) == ("ClosedBySetting", Severity.CLOSED)
    assert finding.effect == "Every path of every Ingress answers 503, and so does the default backend."


@pytest.mark.parametrize("key", ["whitelist-source-range", "denylist-source-range"])
def test_source_ranges_that_cannot_be_read_close_everything_unless_ignored(key: str) -> None:
    settings, (finding,) = read_configmap({key: "10.0.0.0/8,nonsense"})
    assert settings == ClusterSettings(closed=True)
    assert (finding.reason, finding.severity) == ("ClosedBySetting", Severity.CLOSED)
    assert "To be served, correct it, or name it in ignore-settings." in finding.message
    settings, (finding,) = read_configmap({key: "nonsense", "ignore-settings": key})
    assert not settings.closed
    assert (finding.reason, finding.severity) == ("IgnoredByOperator", Severity.UNPROTECTED)


def test_the_operator_may_have_it_ignored() -> None:
    data = {
        "enable-modsecurity": "true",
        "ignore-settings": "enable-modsecurity",
        "ignore-annotations": "server-snippet, auth-url",
    }
    settings, (finding,) = read_configmap(data)
    assert not settings.closed
    assert settings.ignored_annotations == {"server-snippet", "auth-url"}
    assert (finding.reason, finding.severity) == ("IgnoredByOperator", Severity.UNPROTECTED)


def test_a_value_that_would_weaken_the_cluster_closes_everything_unless_it_is_ignored() -> None:
    settings, (finding,) = read_configmap({"force-ssl-redirect": "yes"})
    assert settings == ClusterSettings(closed=True)
    assert (finding.reason, finding.severity) == ("ClosedBySetting", Severity.CLOSED)
    settings, (finding,) = read_configmap({"force-ssl-redirect": "yes", "ignore-settings": "force-ssl-redirect"})
    assert not settings.closed
    assert (finding.reason, finding.severity) == ("IgnoredByOperator", Severity.UNPROTECTED)


def test_a_name_to_ignore_that_closes_nothing_is_said() -> None:
    _, (finding,) = read_configmap({"ignore-annotations": "auth-urls"})
    assert finding.message.endswith('Did you mean "auth-url"?')


def test_a_slip_in_the_name_of_a_key_is_asked_about() -> None:
    _, (finding,) = read_configmap({"whitelist-source-ranges": "10.0.0.0/8"})
    assert finding.message.endswith('Did you mean "whitelist-source-range"?')
    assert finding.severity is Severity.DEGRADED


def test_what_is_satisfied_by_design_is_no_finding() -> None:
    data = {
        "proxy-buffering": "off",
        "proxy-request-buffering": "off",
        "server-tokens": "false",
        "enable-modsecurity": "false",
    }
    assert read_configmap(data) == (ClusterSettings(), ())


def test_the_settings_of_connections() -> None:
    settings, findings = read_configmap(
        {
            "service-upstream": "true",
            "use-proxy-protocol": "true",
            "proxy-protocol-header-timeout": "500ms",
            "max-worker-connections": "7",
        }
    )
    assert findings == ()
    assert settings.backend.service_upstream is True
    assert settings.proxy == ProxySettings(
        proxy_protocol=True, proxy_protocol_timeout_seconds=0.5, client_connections=7
    )
