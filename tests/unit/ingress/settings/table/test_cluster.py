"""Every part of the settings takes what the ConfigMap sets of it."""

from __future__ import annotations

from balancer.model.policies import RoutePolicy
from balancer.model.settings import ProxySettings
from balancer.model.zones import Zone
from ingress.settings.table.backends import BackendSettings
from ingress.settings.table.cluster import ClusterSettings, cluster_settings
from ingress.settings.table.option import Overrides
from ingress.settings.table.redirects import Redirects
from ingress.settings.table.zones import ZoneFactSettings, ZoneSettings
from ingress.settings.zone_values import ZoneDrain
from tests.unit.ingress.said import said


def test_nothing_set_is_the_default() -> None:
    assert cluster_settings(Overrides()) == ClusterSettings()


def test_every_part_takes_what_is_set_of_it() -> None:
    texts = {
        "zone-aware-routing": "true",
        "zone-min-percent": "7",
        "zone-drain": "zone-a",
        "ssl-redirect": "false",
        "proxy-next-upstream-tries": "7",
        "keep-alive-requests": "7",
        "max-concurrency": "7",
        "ignore-annotations": "auth-url",
    }
    facts = cluster_settings(said({"zone-drain": "zone-a"})).zone_facts
    assert facts.drains == (ZoneDrain(Zone("zone-a")),)
    assert facts != ZoneFactSettings()
    assert cluster_settings(said(texts)) == ClusterSettings(
        zone_aware_routing=True,
        zones=ZoneSettings(min_percent=7),
        zone_facts=facts,
        redirects=Redirects(ssl_redirect=False),
        route_policy=RoutePolicy(tries=7),
        proxy=ProxySettings(keep_alive_requests=7),
        backend=BackendSettings(max_concurrency=7),
        ignored_annotations=frozenset({"auth-url"}),
    )
