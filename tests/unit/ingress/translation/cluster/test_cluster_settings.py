"""The ConfigMap of the cluster says what holds everywhere."""

from __future__ import annotations

from balancer.model.policies import RoutePolicy
from balancer.model.settings import ProxySettings
from ingress.settings.context import TranslationContext
from tests.unit.ingress.cluster import (
    config_map,
    ingress,
    reasons,
    rule,
    service,
    translated,
)


def test_settings_of_the_configmap_reach_the_model() -> None:
    result = translated(ingress("web", rule()), service(), config_map(keep_alive="5", proxy_read_timeout="9", typo="x"))
    assert result.model.proxy == ProxySettings(keep_alive_seconds=5.0)
    assert result.model.hosts[0].routes[0].policy == RoutePolicy(read_timeout_seconds=9.0)
    assert reasons(result.findings) == [("zonal", "UnknownKey")]


def test_only_the_configmap_that_the_context_names_counts() -> None:
    other = config_map("other", "zonal", keep_alive="5")
    assert translated(other).model.proxy == ProxySettings()
    assert translated(other, context=TranslationContext(configmap="other/zonal")).model.proxy.keep_alive_seconds == 5.0
