"""Annotations of routes."""

from __future__ import annotations

from ingress.findings import Findings
from ingress.settings.table.zones import ZoneSettings
from ingress.translation.gateway.annotations import route_overrides
from tests.unit.ingress.cluster import reasons
from tests.unit.ingress.translation.gateway.objects import gateway, read, read_all


def overrides_of(**annotations: str) -> tuple[dict[tuple[str, str, str], object], Findings]:
    route = read("HTTPRoute", "route", parentRefs=[{"name": "gw"}])
    said = {f"zonal-ingress.io/{name.replace('_', '-')}": value for name, value in annotations.items()}
    route.metadata.annotations.update(said)
    findings = Findings()
    return dict(route_overrides(read_all(gateway(), route).routes, findings)), findings


def test_a_route_sets_the_zones_of_its_requests() -> None:
    found, findings = overrides_of(zone_policy="hints")
    assert found.keys() == {("HTTPRoute", "infra", "route")}
    assert found["HTTPRoute", "infra", "route"].over(ZoneSettings()) != ZoneSettings()  # type: ignore[attr-defined]
    assert findings.frozen() == ()


def test_what_cannot_be_read_is_told() -> None:
    _, findings = overrides_of(zone_policy="odd")
    assert reasons(findings.frozen()) == [("route", "InvalidValue")]


def test_routes_without_annotations_are_left_out() -> None:
    assert overrides_of()[0] == {}
