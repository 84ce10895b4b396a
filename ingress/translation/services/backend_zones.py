"""Decides which zone policies are in force, for a backend and for the routes to it.

Applies precedence field by field (Ingress over Service over ConfigMap), and collects the node labels that the policies
name. Does not know how a policy chooses an endpoint.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

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

_NOTHING = Overrides()
_NONE: Final[frozenset[ZonePolicy]] = frozenset()


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


class NotedZones(NamedTuple):
    """What `BackendZones` has noted: the Service of each backend with what that sets, and the policies of each backend
    and its routes.
    """

    services: dict[BackendKey, tuple[Service, Overrides]]
    policies: dict[BackendKey, frozenset[ZonePolicy]]


class BackendZones:
    """The policies of one translation. While the flag is off every policy is `ZONES_OFF`."""

    __slots__ = ("_alone", "_policies", "_services", "_settings", "_usual")

    def __init__(self, settings: ClusterSettings) -> None:
        self._settings = settings
        self._services: dict[BackendKey, tuple[Service, Overrides]] = {}
        self._policies: dict[BackendKey, frozenset[ZonePolicy]] = {}
        # Thousands of backends have the same policy: one object, and one set of it, which is found by its identity.
        self._usual: dict[bool, ZonePolicy] = {}
        self._alone: dict[int, frozenset[ZonePolicy]] = {}

    @property
    def policy_names(self) -> frozenset[ZonePolicyName]:
        """The policies in force, by name."""
        return frozenset(policy.name for policies in self._policies.values() for policy in policies)

    @property
    def noted(self) -> NotedZones:
        """What is noted until now."""
        return NotedZones(self._services.copy(), self._policies.copy())

    def take_over(self, noted: NotedZones) -> None:
        """Notes all of `noted` as well."""
        policies = noted.policies.copy()
        policies.update((key, own | policies.get(key, _NONE)) for key, own in self._policies.items())
        self._policies = policies
        self._services = noted.services | self._services

    def minds_zones(self, key: BackendKey) -> bool:
        """Whether a backend or one of its routes has a policy other than `off`."""
        return any(policy.name is not ZonePolicyName.OFF for policy in self._policies.get(key, ()))

    def policies(self, key: BackendKey) -> frozenset[ZonePolicy]:
        """The policies of a backend and its routes."""
        return self._policies.get(key, _NONE)

    def label_keys(self, key: BackendKey) -> frozenset[str]:
        """The node labels that the policies of a backend and of its routes name."""
        named = (name for policy in self._policies.get(key, ()) for name in policy.keys)
        return frozenset(name for name in named if name != ANY_ENDPOINT)

    def backend_policy(self, service: Service, overrides: Overrides) -> ZonePolicy:
        """The policy of the backends of a Service; `overrides` are what it sets."""
        if not self._settings.zone_aware_routing:
            return ZONES_OFF
        hints = follows_hints(service)
        if overrides.of(ZoneSettings):
            return self._settings.zones.overridden(overrides).policy(follows_hints=hints)
        usual = self._usual.get(hints)
        if usual is None:
            usual = self._settings.zones.policy(follows_hints=hints)
            self._usual[hints] = usual
        return usual

    def note_backend(self, key: BackendKey, service: Service, overrides: Overrides, policy: ZonePolicy) -> None:
        """Notes that a backend has the policy that `backend_policy` gave for its Service."""
        if self._settings.zone_aware_routing:
            self._services[key] = service, overrides
            self.note(key, policy)

    def route_policy(self, backend: Backend, overrides: Overrides, defaults: Overrides = _NOTHING) -> ZonePolicy | None:
        """The policy of a route instead of its backend's; None if the Ingress changes nothing or the flag is off.

        `backend` was noted, with its own policy. `overrides` are what the owner of the route sets, `defaults` what
        counts where the Service says nothing.
        """
        says_nothing = not overrides.of(ZoneSettings) and not defaults.of(ZoneSettings)
        if not self._settings.zone_aware_routing or says_nothing:
            return None
        service, said = self._services[backend.key]
        zones = self._settings.zones.overridden(defaults).overridden(said).overridden(overrides)
        policy = zones.policy(follows_hints=follows_hints(service))
        return None if policy == backend.zone_policy else self.note(backend.key, policy)

    def note(self, key: BackendKey, policy: ZonePolicy) -> ZonePolicy:
        """Notes that a backend or a route to it has this policy."""
        policies = self._policies.get(key)
        if policies is None:
            self._policies[key] = self._only(policy)
        elif policy not in policies:
            self._policies[key] = policies | {policy}
        return policy

    def _only(self, policy: ZonePolicy) -> frozenset[ZonePolicy]:
        only = self._alone.get(id(policy))
        if only is None:
            only = frozenset((policy,))  # which keeps the policy, so that nothing else gets its identity
            self._alone[id(policy)] = only
        return only
