"""Decides which zone policies are in force, for a backend and for the routes to it.

Applies precedence field by field (Ingress over Service over ConfigMap), and collects the node labels that the policies
name. Does not know how a policy chooses an endpoint.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from balancer.model.endpoints import Backend, BackendKey
from balancer.model.zones import ZONES_OFF, ZonePolicy, ZonePolicyName
from ingress.findings import Findings
from ingress.objects.kinds import Service
from ingress.settings.configmap import CONFIG_MAP
from ingress.settings.reading import read_options
from ingress.settings.table.cluster import ClusterSettings
from ingress.settings.table.option import OptionSource, Overrides
from ingress.settings.table.whole import CONFIGMAP_OPTIONS
from ingress.settings.table.zones import ZoneSettings
from ingress.settings.zone_values import ANY_ENDPOINT, PolicyChoice
from ingress.translation.cluster.zones import follows_hints


class _Said(msgspec.Struct, frozen=True):
    """The zone settings of ConfigMap and Service for a backend, and whether `auto` means hints for it."""

    zones: ZoneSettings
    follows_hints: bool


def policy_origin(
    settings: ClusterSettings, data: Mapping[str, str], *, service: Overrides, ingress: Overrides
) -> tuple[str, PolicyChoice]:
    """Who sets the policy (flag-off, ingress, service, configmap or default), and which policy.

    `settings` were read from `data`. `service` and `ingress` are the settings of the two.
    """
    if not settings.zone_aware_routing:
        return "flag-off", PolicyChoice(ZonePolicyName.OFF)
    report = Findings().about(CONFIG_MAP)
    configmap = read_options(data, CONFIGMAP_OPTIONS, source=OptionSource.CONFIGMAP, report=report).overrides
    for source, overrides in (("ingress", ingress), ("service", service), ("configmap", configmap)):
        if "choice" in overrides.of(ZoneSettings):
            return source, overrides.over(settings.zones).choice
    return "default", settings.zones.choice


class BackendZones:
    """The policies of one translation. While the flag is off every policy is `ZONES_OFF`."""

    __slots__ = ("_policies", "_said", "_settings")

    def __init__(self, settings: ClusterSettings) -> None:
        self._settings = settings
        self._said: dict[BackendKey, _Said] = {}
        self._policies: dict[BackendKey, set[ZonePolicy]] = {}

    @property
    def policy_names(self) -> frozenset[ZonePolicyName]:
        """The policies in force, by name."""
        return frozenset(policy.name for policies in self._policies.values() for policy in policies)

    def minds_zones(self, key: BackendKey) -> bool:
        """Whether a backend or one of its routes has a policy other than `off`."""
        return any(policy.name is not ZonePolicyName.OFF for policy in self._policies.get(key, ()))

    def policies(self, key: BackendKey) -> frozenset[ZonePolicy]:
        """The policies of a backend and its routes."""
        return frozenset(self._policies.get(key, ()))

    def label_keys(self, key: BackendKey) -> frozenset[str]:
        """The node labels that the policies of a backend and of its routes name."""
        named = (name for policy in self._policies.get(key, ()) for name in policy.keys)
        return frozenset(named) - {ANY_ENDPOINT}

    def backend_policy(self, key: BackendKey, service: Service, overrides: Overrides) -> ZonePolicy:
        """The policy of a backend; `overrides` are what its Service sets."""
        if not self._settings.zone_aware_routing:
            return ZONES_OFF
        zones = self._settings.zones.overridden(overrides)
        self._said[key] = _Said(zones, follows_hints(service))
        return self._note(key, zones.policy(follows_hints=self._said[key].follows_hints))

    def route_policy(self, backend: Backend, overrides: Overrides) -> ZonePolicy | None:
        """The policy of a route instead of its backend's; None if the Ingress changes nothing or the flag is off.

        `backend` has the policy that `backend_policy` gave for its key. `overrides` are what the Ingress sets.
        """
        if not self._settings.zone_aware_routing or not overrides.of(ZoneSettings):
            return None
        said = self._said[backend.key]
        overridden = said.zones.overridden(overrides).policy(follows_hints=said.follows_hints)
        return None if overridden == backend.zone_policy else self._note(backend.key, overridden)

    def _note(self, key: BackendKey, policy: ZonePolicy) -> ZonePolicy:
        self._policies.setdefault(key, set()).add(policy)
        return policy
