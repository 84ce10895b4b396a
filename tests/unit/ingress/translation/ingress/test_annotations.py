"""What annotations mean, and what happens to those that are not carried out."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.model.endpoints import HealthCheck, LoadBalancing
from balancer.model.policies import RoutePolicy
from balancer.model.publication import RoutingModel
from balancer.model.zones import ZonePolicyName
from balancer.workers.deltas import Piece, delta, joined, pieces
from ingress.findings import Finding, Findings, Severity
from ingress.objects.kinds import subject_of
from ingress.settings.table.backends import BackendSettings
from ingress.settings.table.cluster import ClusterSettings
from ingress.settings.table.endpoint_tls import EndpointScheme, EndpointTlsOptions
from ingress.settings.table.option import NGINX_PREFIX, OWN_PREFIX, Overrides
from ingress.settings.table.redirects import Redirects
from ingress.settings.table.whole import CONFIGMAP_OPTIONS, INGRESS_OPTIONS
from ingress.settings.table.zones import ZoneSettings
from ingress.settings.zone_values import PolicyChoice
from ingress.translation.ingress.annotations import (
    IngressOptions,
    read_ingress_annotations,
)
from tests.properties import examples
from tests.unit.ingress.cluster import config_map, ingress, service, translated


def read(
    annotations: dict[str, str], settings: ClusterSettings | None = None
) -> tuple[IngressOptions, tuple[Finding, ...]]:
    findings = Findings()
    subject = ingress(annotations=annotations)
    report = findings.about(subject_of(subject))
    return read_ingress_annotations(subject, settings or ClusterSettings(), report=report), findings.frozen()


def nginx(name: str, text: str) -> dict[str, str]:
    return {NGINX_PREFIX + name: text}


def test_without_annotations_the_cluster_settings_hold() -> None:
    settings = ClusterSettings(route_policy=RoutePolicy(tries=7), redirects=Redirects(ssl_redirect=False))
    options, findings = read({}, settings)
    assert options == IngressOptions(RoutePolicy(tries=7), Redirects(ssl_redirect=False))
    assert findings == ()


def test_each_annotation_overrides_its_field_and_no_other() -> None:
    settings = ClusterSettings(route_policy=RoutePolicy(tries=7))
    options, findings = read(
        {
            **nginx("proxy-connect-timeout", "1"),
            **nginx("proxy-read-timeout", "2"),
            **nginx("proxy-send-timeout", "3"),
            **nginx("proxy-body-size", "0"),
        },
        settings,
    )
    assert findings == ()
    assert options.route_policy == RoutePolicy(1.0, 2.0, 3.0, max_body_bytes=0, tries=7)


@pytest.mark.parametrize(
    ("ssl_redirect", "force", "has_tls", "redirects"),
    [
        ("true", "false", True, True),
        ("true", "false", False, False),
        ("false", "false", True, False),
        ("false", "true", False, True),
        ("false", "true", True, True),
    ],
)
def test_ssl_redirect_needs_tls_and_force_does_not(
    ssl_redirect: str, force: str, has_tls: bool, redirects: bool
) -> None:
    options, _ = read({**nginx("ssl-redirect", ssl_redirect), **nginx("force-ssl-redirect", force)})
    assert options.redirects.to_https("/", has_tls=has_tls) is redirects


@pytest.mark.parametrize("forced", ["true", "false"])
@pytest.mark.parametrize(
    ("path", "redirects"),
    [
        ("/.well-known/acme-challenge", False),
        ("/.well-known/acme-challenge/token", False),
        ("/.well-known/openid", True),
        ("/a/.well-known/acme-challenge", True),
    ],
)
def test_the_path_of_an_acme_challenge_is_not_redirected(forced: str, path: str, redirects: bool) -> None:
    options, _ = read(nginx("force-ssl-redirect", forced))
    assert options.redirects.to_https(path, has_tls=True) is redirects


def test_the_zone_annotations_are_overrides() -> None:
    options, findings = read(
        {
            OWN_PREFIX + "zone-policy": "off",
            OWN_PREFIX + "zone-min-endpoints": "2",
            OWN_PREFIX + "zone-min-percent": "30",
        }
    )
    assert findings == ()
    assert options.overrides.of(ZoneSettings) == {
        "choice": PolicyChoice(ZonePolicyName.OFF),
        "min_endpoints": 2,
        "min_percent": 30,
    }


def test_what_only_the_operator_may_say_about_zones_is_no_annotation() -> None:
    options, (finding,) = read({OWN_PREFIX + "zone-drain": "zone-a"})
    assert options.overrides == Overrides()
    assert finding.reason == "UnknownAnnotation"


def test_what_is_said_about_backends_is_kept_apart() -> None:
    options, findings = read(
        {
            OWN_PREFIX + "health-check-path": "/well",
            OWN_PREFIX + "max-concurrency": "7",
            OWN_PREFIX + "zone-panic-threshold": "20",
            **nginx("load-balance", "ewma"),
        }
    )
    assert findings == ()
    assert BackendSettings().overridden(options.overrides) == BackendSettings(
        LoadBalancing.EWMA, health_check=HealthCheck("/well"), max_concurrency=7, panic_percent=20
    )


def test_when_another_endpoint_is_tried() -> None:
    options, findings = read({**nginx("proxy-next-upstream", "timeout http_503 error"),
                              **nginx("proxy-next-upstream-timeout", "3")})  # fmt: skip
    assert findings == ()
    assert options.route_policy == RoutePolicy(retry_on=("error", "http_503", "timeout"), retry_seconds=3.0)


@pytest.mark.parametrize(("name", "text"), [("proxy-next-upstream", "error http_501"), ("load-balance", "ip_hash")])
def test_a_word_that_nobody_knows_leaves_the_default(name: str, text: str) -> None:
    options, (finding,) = read(nginx(name, text))
    assert (options.route_policy, options.overrides) == (RoutePolicy(), Overrides())
    assert finding.reason == "InvalidValue"


def test_a_canary_is_marked() -> None:
    assert read(nginx("canary", "true"))[0].canary
    assert not read(nginx("canary", "false"))[0].canary


def test_a_value_that_does_not_parse_leaves_the_default() -> None:
    options, (finding,) = read({**nginx("proxy-read-timeout", "30s"), **nginx("proxy-send-timeout", "9")})
    assert options.route_policy == RoutePolicy(send_timeout_seconds=9.0)
    assert finding.reason == "InvalidValue"
    assert '"30s"' in finding.message


def test_a_timeout_of_a_day_is_lowered_to_an_hour() -> None:
    options, (finding,) = read(nginx("proxy-read-timeout", "86400"))
    assert options.route_policy.read_timeout_seconds == 3600.0
    assert finding.reason == "ValueCapped"


@pytest.mark.parametrize(
    "name",
    [
        "auth-url",
        "auth-type",
        "auth-tls-match-cn",
        "auth-misspelt",
        "limit-rps",
        "limit-connections",
        "allowlist-source-range",
        "whitelist-source-range",
        "denylist-source-range",
    ],
)
def test_a_protective_annotation_closes_the_ingress(name: str) -> None:
    options, (finding,) = read(nginx(name, "x"))
    assert options.closed
    assert finding.reason == "ClosedByAnnotation"
    assert "503" in finding.effect


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        (NGINX_PREFIX + "fastcgi-index", "NotSupported"),
        (NGINX_PREFIX + "enable-websockets", "UnknownAnnotation"),
        (OWN_PREFIX + "zone-dry-run", "InvalidValue"),
        (OWN_PREFIX + "zone-polcy", "UnknownAnnotation"),
    ],
)
def test_another_annotation_under_our_prefixes_is_said_to_have_no_effect(name: str, reason: str) -> None:
    options, (finding,) = read({name: "x"})
    assert not options.closed
    assert finding.reason == reason


def test_annotations_of_other_tools_are_none_of_ours() -> None:
    assert read({"cert-manager.io/cluster-issuer": "x", "auth-url": "x"})[1] == ()


def test_what_is_said_about_endpoints_is_kept_apart() -> None:
    options, findings = read(
        {
            **nginx("upstream-vhost", "inner.test"),
            **nginx("backend-protocol", "https"),
            **nginx("proxy-ssl-secret", "shop/ca"),
            **nginx("proxy-ssl-verify", "on"),
            **nginx("service-upstream", "true"),
        }
    )
    assert findings == ()
    assert options.route_policy == RoutePolicy(host="inner.test")
    assert options.endpoint_tls == EndpointTlsOptions(scheme=EndpointScheme.HTTPS, secret="shop/ca", verify=True)
    assert options.overrides.of(BackendSettings) == {"service_upstream": True}


def test_a_protocol_that_is_not_supported_closes_the_ingress() -> None:
    options, (finding,) = read(nginx("backend-protocol", "FCGI"))
    assert options.closed
    assert options.endpoint_tls == EndpointTlsOptions()
    assert finding.reason == "ClosedByAnnotation"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("proxy-ssl-verify", "true"),
        ("proxy-ssl-verify", "ON"),
        ("force-ssl-redirect", "yes"),
        ("canary", "yes"),
        ("backend-protocol", "HTTPPS"),
    ],
)
def test_a_value_that_would_weaken_the_ingress_closes_it(name: str, text: str) -> None:
    options, (finding,) = read(nginx(name, text))
    assert options.closed
    assert (finding.reason, finding.severity) == ("ClosedByAnnotation", Severity.CLOSED)
    assert finding.effect == "Every path of the Ingress answers 503."


def test_the_operator_may_have_such_a_value_ignored() -> None:
    settings = ClusterSettings(ignored_annotations=frozenset({"proxy-ssl-verify"}))
    options, (finding,) = read(nginx("proxy-ssl-verify", "true"), settings)
    assert not options.closed
    assert (finding.reason, finding.severity) == ("IgnoredByOperator", Severity.UNPROTECTED)


@pytest.mark.parametrize(
    ("name", "text", "severity"),
    [
        ("ssl-redirect", "yes", Severity.UNPROTECTED),
        ("session-cookie-secure", "yes", Severity.UNPROTECTED),
        ("canary-weight", "ten", Severity.MISROUTED),
        ("proxy-read-timeout", "30s", Severity.DEGRADED),
    ],
)
def test_a_value_whose_default_is_safe_closes_nothing(name: str, text: str, severity: Severity) -> None:
    options, (finding,) = read(nginx(name, text))
    assert not options.closed
    assert (finding.reason, finding.severity) == ("InvalidValue", severity)


TEXTS = st.one_of(
    st.text(max_size=20),
    st.from_regex(r"[0-9]{1,13}(ms|[bkmgsh])?", fullmatch=True),
    st.from_regex(r"[0-9]{1,9} [0-9]{1,13}[kmg]", fullmatch=True),
    st.from_regex(r"[a-z/$_.*:,=>-]{1,20}", fullmatch=True),
)


@examples(60)
@given(st.sampled_from(sorted(INGRESS_OPTIONS)), st.sampled_from(sorted(CONFIGMAP_OPTIONS)), TEXTS, TEXTS)
def test_whatever_is_accepted_can_be_sent_to_a_worker(annotation: str, key: str, text: str, other: str) -> None:
    said = {NGINX_PREFIX + "affinity": "cookie", annotation: text}
    model = translated(ingress(annotations=said), service(), config_map(**{key: other})).model
    sent = [msgspec.msgpack.encode(piece) for piece in pieces(delta(RoutingModel(), model), 1)]
    received = joined(msgspec.msgpack.decode(each, type=Piece).delta for each in sent)
    assert received == delta(RoutingModel(), model)
