"""Remembers backends from one translation to the next: as they were made, placed on Nodes, and all that were used.

Does not know how a backend is made, nor who asks for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from typing import NamedTuple

import msgspec

from balancer.model.endpoints import Backend, BackendKey
from balancer.model.zones import ZonePolicy, ZonePolicyName
from ingress.objects.kinds import Kind
from ingress.settings.table.cluster import ClusterSettings
from ingress.settings.table.option import Overrides
from ingress.translation.cluster.replica_zones import ReplicaZones
from ingress.translation.cluster.zone_findings import GivenZone
from ingress.translation.memory import InventoryView, Memory, Notes
from ingress.translation.services.backend_zones import NotedZones
from ingress.translation.services.collected import Collected
from ingress.translation.services.endpoint_changes import EndpointPlan, SlicedService

_SEEN_BY_USED = frozenset({Kind.SERVICE, Kind.ENDPOINT_SLICE, Kind.NODE})


class UsedBackends(msgspec.Struct, frozen=True, gc=False):
    """The backends that routes lead to, sorted by key, and what they need. Nothing can be resolved any more.

    `names` are the DNS names outside of the cluster whose addresses are endpoints, by namespace. `services` are the
    Services that were looked for, by namespace and name, whether they exist or not. `policy_names` are the zone
    policies in force.
    `label_keys` are the node labels that the policies of a backend name. `zoned` are the backends with a policy other
    than `off`, `policies` those of each backend and its routes. `sliced` are the Services whose
    endpoints come from slices, by namespace and name.
    """

    backends: tuple[Backend, ...] = ()
    names: frozenset[tuple[str, str]] = frozenset()
    services: frozenset[tuple[str, str]] = frozenset()
    policy_names: frozenset[ZonePolicyName] = frozenset()
    label_keys: Mapping[BackendKey, frozenset[str]] = {}
    zoned: frozenset[BackendKey] = frozenset()
    policies: Mapping[BackendKey, frozenset[ZonePolicy]] = {}
    sliced: Mapping[tuple[str, str], SlicedService] = {}

    @property
    def every_label_key(self) -> frozenset[str]:
        """The node labels that any policy in force names."""
        return frozenset().union(*self.label_keys.values())

    def plan(
        self,
        *,
        allow_local: bool,
        replicas_of: tuple[str, str] | None,
        given_zone: GivenZone | None,
        own_service: tuple[str, str] | None = None,
        replica_zones: ReplicaZones | None = None,
    ) -> EndpointPlan:
        """What is needed to make the endpoints of these backends again when only slices have changed.

        `given_zone` and `replica_zones` come without endpoints. The endpoints of these backends are counted here.
        """
        if given_zone is not None:
            given_zone = given_zone.changed((), (service.zones for service in self.sliced.values()))
        if replica_zones is not None:
            replica_zones = replica_zones.changed((), (service.zones for service in self.sliced.values()))
        return EndpointPlan(
            allow_local=allow_local,
            services=self.sliced,
            label_keys=self.label_keys,
            zoned=self.zoned,
            policies=self.policies,
            replicas_of=replicas_of,
            given_zone=given_zone,
            own_service=own_service,
            replica_zones=replica_zones,
        )


class MadeBackend(msgspec.Struct, frozen=True, gc=False):
    """A backend before its endpoints are placed on Nodes.

    `said` is what its Service sets. `external_name` is the DNS name whose addresses are the endpoints, if any.
    `slice_findings` are those about the slices of which the endpoints were made, None if they come from elsewhere.
    """

    backend: Backend
    said: Overrides
    external_name: str = ""
    slice_findings: Notes | None = None


class AskedByHosts(NamedTuple):
    """What all hosts of a translation have asked of backends."""

    collected: Collected
    zones: NotedZones


class BackendMemories:
    """What is remembered of backends: as they were made, placed on Nodes, and what findings are about their slices.

    `last_hosts` is what all hosts of the last translation have asked; None: nobody knows. `hosts` is that of this one.
    """

    __slots__ = (
        "_given",
        "_overrides",
        "_settings",
        "_stamp",
        "_used",
        "_view",
        "hosts",
        "last_hosts",
        "made",
        "placed",
        "sliced",
    )

    def __init__(self) -> None:
        self._given: tuple[object, ...] = ()
        self._overrides: Mapping[BackendKey, Overrides] = {}
        self._settings: ClusterSettings | None = None
        self._used = UsedBackends()
        self._stamp = 0
        self._view: InventoryView | None = None
        self.last_hosts: AskedByHosts | None = None
        self.hosts: AskedByHosts | None = None
        self.made: Memory[MadeBackend] = Memory()
        self.placed: Memory[Backend] = Memory()
        self.sliced: Memory[SlicedService] = Memory()

    def begin(self, view: InventoryView) -> None:
        """As in `Memory`."""
        for memory in (self.made, self.placed, self.sliced):
            memory.begin(view)
        self.last_hosts = self.hosts
        self.hosts = None
        if self._view is not None and self._view.stamps is not view.stamps:
            self._given = ()
            self._settings = None
        self._view = view

    def others(
        self, settings: ClusterSettings, overrides: Mapping[BackendKey, Overrides]
    ) -> AbstractSet[BackendKey] | None:
        """The keys for which `overrides` say something else than in the last translation.

        None: Services or settings have changed as well, so each backend has to be looked at.
        """
        assert self._view is not None
        before, is_quiet = self._overrides, settings is self._settings
        self._overrides = overrides
        self._settings = settings
        if not is_quiet or Kind.SERVICE in self._view.changed_after(self._stamp):
            return None
        if overrides == before:
            return frozenset()
        return {key for key in overrides.keys() | before.keys() if overrides.get(key) != before.get(key)}

    def used(self, given: tuple[object, ...], make: Callable[[], UsedBackends]) -> UsedBackends:
        """What `make` makes of `given` and of the Services, slices and Nodes."""
        assert self._view is not None
        if given == self._given and _SEEN_BY_USED.isdisjoint(self._view.changed_after(self._stamp)):
            self.placed.keep_all()
            self.sliced.keep_all()
        else:
            self._given = given
            self._used = make()
        self._stamp = self._view.stamps.now
        return self._used
