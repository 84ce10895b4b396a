"""The zone policies in force: whose word holds for a backend and for the routes to it.

Responsible for precedence (ConfigMap, then Service, then Ingress, field by field) and for which node labels the
policies name. It must not know how a policy chooses an endpoint.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import msgspec

from balancer.model import ZONES_OFF, BackendKey, ZonePolicy, ZonePolicyName
from ingress.objects import Service
from ingress.settings import ClusterSettings
from ingress.translation.zones import follows_hints
from ingress.values import Draft, InvalidValue
from ingress.zone_settings import SECTION, ZONE_ROWS, ZoneSettings
from ingress.zone_values import ANY_ENDPOINT, PolicyChoice

_POLICY = "zone-policy"


class _Said(msgspec.Struct, frozen=True):
    """What ConfigMap and Service say about a backend, and whether `auto` means hints there."""

    zones: ZoneSettings
    follows_hints: bool


def policy_origin(
    settings: ClusterSettings, data: Mapping[str, str], *, service: Mapping[str, Any], ingress: Mapping[str, Any]
) -> tuple[str, PolicyChoice]:
    """Who sets the policy (flag-off, ingress, service, configmap or default), and which.

    `settings` were read from `data`; `service` and `ingress` are the fields of `ZoneSettings` that the two state.
    """
    if not settings.zone_aware_routing:
        return "flag-off", PolicyChoice(ZonePolicyName.OFF)
    stated: Draft = {}
    with suppress(KeyError, InvalidValue):
        ZONE_ROWS[_POLICY].fill(stated, data[_POLICY])
    field = ZONE_ROWS[_POLICY].field
    said = {"ingress": ingress, "service": service, "configmap": stated.get(SECTION, {})}
    found = ((source, fields[field]) for source, fields in said.items() if field in fields)
    return next(found, ("default", settings.zones.choice))


class BackendZones:
    """The policies of one translation. While the flag is off every one is `ZONES_OFF`, whatever anybody says."""

    __slots__ = ("_policies", "_said", "_settings")

    def __init__(self, settings: ClusterSettings) -> None:
        self._settings = settings
        self._said: dict[BackendKey, _Said] = {}
        self._policies: dict[BackendKey, set[ZonePolicy]] = {}

    @property
    def policy_names(self) -> frozenset[ZonePolicyName]:
        """The policies in force, by name."""
        return frozenset(policy.name for policies in self._policies.values() for policy in policies)

    @property
    def every_label_key(self) -> frozenset[str]:
        """The node labels that any policy in force names."""
        return frozenset().union(*map(self.label_keys, self._policies))

    def label_keys(self, key: BackendKey) -> frozenset[str]:
        """The node labels that the policies of a backend and of its routes name."""
        named = (name for policy in self._policies.get(key, ()) for name in policy.keys)
        return frozenset(named) - {ANY_ENDPOINT}

    def backend_policy(self, key: BackendKey, service: Service, service_overrides: Mapping[str, Any]) -> ZonePolicy:
        """The policy of a backend; `service_overrides` are the fields of `ZoneSettings` that its Service states."""
        if not self._settings.zone_aware_routing:
            return ZONES_OFF
        zones = self._settings.zones.overridden(service_overrides)
        self._said[key] = _Said(zones, follows_hints(service))
        return self._note(key, zones.policy(follows_hints=self._said[key].follows_hints))

    def route_policy(self, key: BackendKey, ingress_overrides: Mapping[str, Any]) -> ZonePolicy | None:
        """The policy of a route over its backend's; None where the Ingress changes nothing or the flag is off.

        `backend_policy` must have been asked for the backend.
        """
        if not self._settings.zone_aware_routing or not ingress_overrides:
            return None
        said = self._said[key]
        backend = said.zones.policy(follows_hints=said.follows_hints)
        overridden = said.zones.overridden(ingress_overrides).policy(follows_hints=said.follows_hints)
        return None if overridden == backend else self._note(key, overridden)

    def _note(self, key: BackendKey, policy: ZonePolicy) -> ZonePolicy:
        self._policies.setdefault(key, set()).add(policy)
        return policy
