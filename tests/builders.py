"""Model values for tests: say what matters, the rest is valid and the same everywhere."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from balancer.model.endpoints import Backend, BackendKey, Endpoint
from balancer.model.policies import Affinity, RoutePolicy
from balancer.model.publication import Publication, RoutingModel
from balancer.model.route_configurations import RouteConfiguration
from balancer.model.routes import Branch, Canary, Host, Owner, PathKind, Route, ServiceName
from balancer.model.zones import ZONES_OFF, OwnZone, Zone, ZonePolicy, ZonePolicyName

PREFER_ZONE = ZonePolicy(ZonePolicyName.PREFER_ZONE)


def endpoint(
    address: str = "10.0.0.1",
    *,
    port: int = 80,
    zone: str | None = None,
    ready: bool = True,
    serving_terminating: bool = False,
    hint_zones: tuple[Zone, ...] = (),
) -> Endpoint:
    return Endpoint(
        address=address,
        port=port,
        zone=Zone(zone) if zone is not None else None,
        ready=ready,
        serving_terminating=serving_terminating,
        hint_zones=hint_zones,
    )


def endpoints(zones: str) -> tuple[Endpoint, ...]:
    """One ready endpoint for each letter: `"aab"` gives 10.0.0.1 and .2 in zone-a and .3 in zone-b; `-` has no zone."""
    return tuple(
        endpoint(f"10.0.0.{number}", zone=None if letter == "-" else f"zone-{letter}")
        for number, letter in enumerate(zones, start=1)
    )


def backend(key: str = "shop/cart:80", of: Iterable[Endpoint] = (), *, zone_policy: ZonePolicy = ZONES_OFF) -> Backend:
    namespace, _, rest = key.partition("/")
    service, _, port = rest.rpartition(":")
    return Backend(
        key=BackendKey(key),
        namespace=namespace,
        service=service,
        port=port,
        endpoints=tuple(sorted(of, key=lambda item: (item.address, item.port))),
        zone_policy=zone_policy,
    )


def owner(name: str = "web", namespace: str = "shop") -> Owner:
    """An Ingress as the owner of a route."""
    return Owner("Ingress", namespace, name)


def route(
    path: str = "/",
    to: str | None = "shop/cart:80",
    *,
    exact: bool = False,
    ingress: str = "web",
    policy: RoutePolicy | None = None,
    zone_policy: ZonePolicy | None = None,
    affinity: Affinity | None = None,
    hash_by: str = "",
    hash_subset: int = 1,
    canaries: Iterable[Branch] = (),
) -> Route:
    """A Prefix route unless `exact`; `to` is the key of its backend, None for a broken reference."""
    namespace = (to or "shop/missing:80").partition("/")[0]
    main = branch(
        to,
        owner=owner(ingress, namespace),
        affinity=affinity,
        hash_by=hash_by,
        hash_subset=hash_subset,
        zone_policy=zone_policy,
    )
    return Route(
        path=path,
        kind=PathKind.EXACT if exact else PathKind.PREFIX,
        owner=main.owner,
        branches=(main, *canaries),
        policy=policy or RoutePolicy(),
    )


def branch(to: str | None = "shop/cart:80", **changes: Any) -> Branch:
    """A branch of the Ingress shop/web; `to` is the key of its backend, None for a broken reference."""
    namespace, _, rest = (to or "shop/missing:80").partition("/")
    made = Branch(
        backend=BackendKey(to) if to is not None else None,
        owner=owner("web", namespace),
        service=ServiceName(namespace, rest.rpartition(":")[0]),
    )
    return msgspec.structs.replace(made, **changes)


def canary(to: str = "shop/next:80", ingress: str = "trial", *, rules: Canary | None = None, **changes: Any) -> Branch:
    """A canary that belongs to the Ingress `ingress`, and that nothing chooses unless `rules` do."""
    return branch(to, **({"owner": owner(ingress), "canary": rules or Canary()} | changes))


def host(name: str = "shop.test", *routes: Route, default: Route | None = None) -> Host:
    return Host(name=name, routes=routes, default=default)


def own_zone(zone: str | None) -> OwnZone:
    return OwnZone(zone=Zone(zone), source="flag") if zone is not None else OwnZone()


def model(
    *backends: Backend,
    hosts: Iterable[Host] = (),
    zone: str | None = "zone-a",
    default_route: Route | None = None,
) -> RoutingModel:
    """A model of a replica in `zone`."""
    return RoutingModel(
        hosts=tuple(sorted(hosts, key=lambda item: item.name)),
        backends=tuple(sorted(backends, key=lambda item: item.key)),
        own_zone=own_zone(zone),
        route_configurations=(RouteConfiguration(default_route=default_route),),
    )


def publication(generation: int, content: RoutingModel) -> Publication:
    return Publication(generation=generation, model=content)
