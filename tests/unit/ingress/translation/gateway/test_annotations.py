"""Annotations of routes."""

from __future__ import annotations

from typing import Any

import pytest

from balancer.model.policies import RoutePolicy
from ingress.findings import Findings, Severity
from ingress.settings.table.limits import LimitSettings
from ingress.settings.table.source_ranges import SourceSettings
from ingress.settings.table.zones import ZoneSettings
from ingress.translation.gateway.annotations import RouteSettings, route_settings
from tests.unit.ingress.cluster import reasons
from tests.unit.ingress.translation.gateway.objects import gateway, read, read_all


def settings_of(kind: str = "HTTPRoute", **annotations: str) -> tuple[dict[tuple[str, str, str], Any], Findings]:
    route = read(kind, "route", parentRefs=[{"name": "gw"}])
    said = {f"zonal-ingress.io/{name.replace('_', '-')}": value for name, value in annotations.items()}
    route.metadata.annotations.update(said)
    findings = Findings()
    return dict(route_settings(read_all(gateway(), route).routes, findings)), findings


def one(**annotations: str) -> RouteSettings:
    found, findings = settings_of(**annotations)
    assert findings.frozen() == ()
    said = found["HTTPRoute", "infra", "route"]
    assert isinstance(said, RouteSettings)
    return said


def test_a_route_sets_the_zones_of_its_requests() -> None:
    assert one(zone_policy="hints").overrides.over(ZoneSettings()) != ZoneSettings()


def test_what_cannot_be_read_is_told() -> None:
    _, findings = settings_of(zone_policy="odd")
    assert reasons(findings.frozen()) == [("route", "InvalidValue")]


def test_routes_without_annotations_are_left_out() -> None:
    assert settings_of()[0] == {}


def test_a_route_sets_times_sizes_sources_and_limits() -> None:
    said = one(proxy_read_timeout="7", proxy_body_size="2m", allowlist_source_range="10.0.0.0/8", limit_rps="5")
    policy = said.overrides.over(RoutePolicy())
    assert (policy.read_timeout_seconds, policy.max_body_bytes) == (7.0, 2 * 1024 * 1024)
    assert said.overrides.over(SourceSettings()).allowed == ("10.0.0.0/8",)
    assert said.overrides.over(LimitSettings()).a_second == 5


@pytest.mark.parametrize(("name", "text"), [("allowlist_source_range", "office"), ("limit_rps", "many")])
def test_a_protection_that_cannot_be_read_closes_the_route(name: str, text: str) -> None:
    found, findings = settings_of(**{name: text})
    assert found["HTTPRoute", "infra", "route"].closed
    assert [(each.reason, each.severity) for each in findings.frozen()] == [("InvalidValue", Severity.CLOSED)]


def test_a_route_of_streams_has_the_options_of_a_service_only() -> None:
    found, findings = settings_of("TCPRoute", allowlist_source_range="office", zone_policy="hints")
    assert found["TCPRoute", "infra", "route"].overrides.over(SourceSettings()) == SourceSettings()
    assert not found["TCPRoute", "infra", "route"].closed
    assert findings.frozen() == ()
