"""Who set the zone policy of a route of a Gateway."""

from __future__ import annotations

from typing import Any

import pytest

from balancer.explain.drafts import RouteName
from balancer.model.routes import Owner, ServiceName
from ingress.explain.attached import attached_policy, said_by_route
from ingress.settings.table.zones import ZoneSettings
from tests.unit.ingress.cluster import inventory
from tests.unit.ingress.translation.gateway.objects import gateway, http_route
from tests.unit.ingress.translation.gateway.test_zone_policies import zone_policy

NAME = RouteName(Owner("HTTPRoute", "infra", "route"), ServiceName("infra", "web"))
HINTS = {"policy": "hints"}


@pytest.mark.parametrize(
    ("target", "said", "by", "found"),
    [
        (("HTTPRoute", "route"), {"defaults": HINTS}, "ingress", "infra/policy"),
        (("Service", "web"), {"overrides": HINTS}, "service", "infra/policy"),
        (("Service", "web"), {"overrides": HINTS}, "ingress", None),
        (("Gateway", "gw"), {"overrides": HINTS}, "ingress", "infra/policy"),
        (("Gateway", "gw"), {"defaults": HINTS}, "configmap", "infra/policy"),
        (("Gateway", "gw"), {"defaults": HINTS}, "service", None),
        (("Gateway", "gw"), {"defaults": {"minEndpoints": 2}}, "default", None),
        (("HTTPRoute", "other"), {"defaults": HINTS}, "default", None),
    ],
)
def test_a_policy_that_counts_is_named(
    target: tuple[str, str], said: dict[str, Any], by: str, found: str | None
) -> None:
    known = inventory(gateway(), http_route(), zone_policy(*target, **said))
    assert attached_policy(known, NAME, said_by=by) == found


def test_a_policy_of_an_ingress_counts_before_its_annotations() -> None:
    web = RouteName(Owner("Ingress", "infra", "web"), ServiceName("infra", "web"))
    known = inventory(zone_policy("Ingress", "web", defaults=HINTS))
    assert attached_policy(known, web, said_by="ingress") == "infra/policy"


def test_annotations_of_a_route_are_read() -> None:
    route = http_route()
    route.metadata.annotations["zonal-ingress.io/zone-policy"] = "hints"
    assert "choice" in said_by_route(inventory(route), NAME).of(ZoneSettings)
    assert said_by_route(inventory(), NAME).values == {}
