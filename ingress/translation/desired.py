"""Holds what the objects of a cluster ask for once conflicts are settled, and makes the routes of the model from it.

Knows no input language: what Ingresses and Gateways ask for comes in the same values.
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter

import msgspec

from balancer.model.endpoints import BackendKey
from balancer.model.entry_points import HTTP, HTTPS, EntryPoint
from balancer.model.logins import Logins
from balancer.model.publication import RoutingModel
from balancer.model.route_configurations import INGRESS_LISTENER, Listener, RouteConfiguration
from ingress.findings import Findings, Subject
from ingress.settings.context import TranslationContext
from ingress.settings.table.cluster import ClusterSettings
from ingress.settings.table.option import Overrides
from ingress.translation.claims import HostClaim, RelayClaim
from ingress.translation.defaults import default_certificate, default_route, route_configuration
from ingress.translation.host_memory import HostMemory
from ingress.translation.route_making import AttachedZones, RouteMaker
from ingress.translation.secrets.certificates import Certificates
from ingress.translation.services.backends import Backends


class DesiredState(msgspec.Struct, frozen=True):
    """What the objects of the cluster ask for: conflicts are settled, but nothing is resolved yet.

    `overrides` are what Ingresses set for backends, by `backend_key`. `services` are the Services that objects name,
    `secrets` the Secrets and `config_maps` the ConfigMaps that are needed, by namespace and name, whether they exist or
    not. `logins` are the users that gates name.
    """

    settings: ClusterSettings
    hosts: tuple[HostClaim, ...]
    overrides: Mapping[BackendKey, Overrides]
    services: frozenset[tuple[str, str]]
    secrets: frozenset[tuple[str, str]]
    logins: tuple[Logins, ...]
    config_maps: frozenset[tuple[str, str]]


class EntryParts(msgspec.Struct, frozen=True):
    """The parts of a model behind entry points that objects of the cluster open, each sorted as there.

    `zones` are policies that are attached to owners of routes and to Services, which count for all hosts.
    """

    entry_points: tuple[EntryPoint, ...] = ()
    route_configurations: tuple[RouteConfiguration, ...] = ()
    listeners: tuple[Listener, ...] = ()
    hosts: tuple[HostClaim, ...] = ()
    relays: tuple[RelayClaim, ...] = ()
    zones: AttachedZones | None = None

    def beside(self, others: EntryParts) -> EntryParts:
        """These parts and `others`, which have other keys."""
        return EntryParts(
            tuple(sorted((*self.entry_points, *others.entry_points), key=attrgetter("key"))),
            tuple(sorted((*self.route_configurations, *others.route_configurations), key=attrgetter("key"))),
            tuple(sorted((*self.listeners, *others.listeners), key=attrgetter("key"))),
            (*self.hosts, *others.hosts),
            (*self.relays, *others.relays),
        )


def routed(
    desired: DesiredState,
    parts: EntryParts,
    context: TranslationContext,
    *,
    backends: Backends,
    certificates: Certificates,
    memory: HostMemory,
    findings: Findings,
) -> RoutingModel:
    """A model of hosts and of what serves requests that no host claims. Their backends are in `backends` then."""
    settings = desired.settings
    default = default_route(context, settings, backends=backends, findings=findings)
    maker = RouteMaker(
        backends=backends,
        certificates=certificates,
        findings=findings,
        default=default,
        allow_local=context.allow_local_endpoints,
        path_parameters=settings.access.path_parameters,
        plain_paths=settings.redirects.plain_http_paths,
        memory=memory,
        zones=parts.zones,
    )
    hosts = sorted((*desired.hosts, *parts.hosts), key=attrgetter("listener", "name"))
    passed = (each.passed_to for each in hosts if each.passed_to is not None)
    relays = sorted((*passed, *parts.relays), key=attrgetter("listener", "name"))
    return RoutingModel(
        hosts=maker.hosts(hosts),
        relays=tuple(map(maker.relay, relays)),
        entry_points=(*parts.entry_points, HTTP, HTTPS),
        route_configurations=(
            *parts.route_configurations,
            route_configuration(settings, default, default_certificate(context, certificates, findings=findings)),
        ),
        listeners=_listeners(parts, certificates, findings),
    )


def _listeners(parts: EntryParts, certificates: Certificates, findings: Findings) -> tuple[Listener, ...]:
    """The listeners of the model. Their certificates are known to be usable."""
    for each in parts.listeners:
        kind, namespace, name, _ = each.key.split("/", 3)
        for key in each.certificates:
            certificates.resolve(key, "", report=findings.about(Subject(kind, namespace, name)))
    return tuple(sorted((*parts.listeners, INGRESS_LISTENER), key=attrgetter("key")))
