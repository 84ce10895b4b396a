"""Finds the ZonePolicy that set the zone policy of a route of a Gateway or Ingress, by what policies and routes name.

Does not weigh rules, listeners and ports against each other: a section counts like the whole.
"""

from __future__ import annotations

from collections.abc import Iterator

from balancer.explain.drafts import RouteName
from ingress.findings import Findings
from ingress.objects.gateway import Gateway
from ingress.objects.gateway_routes import ROUTE_RECORDS, GatewayRoute
from ingress.objects.kinds import key_of, subject_of
from ingress.objects.zone_policy import ZonePolicyObject
from ingress.settings.reading import read_options
from ingress.settings.table.option import OptionSource, Overrides
from ingress.settings.table.whole import SERVICE_OPTIONS
from ingress.sources.inventory import Inventory

_Place = tuple[str, str, str]


def said_by_route(inventory: Inventory, route: RouteName) -> Overrides:
    """What the annotations of a route of a Gateway set."""
    found = _route(inventory, route)
    if found is None:
        return Overrides()
    report = Findings().about(subject_of(found))
    return read_options(
        found.metadata.annotations, SERVICE_OPTIONS, source=OptionSource.SERVICE, report=report
    ).overrides


def attached_policy(inventory: Inventory, route: RouteName, *, said_by: str) -> str | None:
    """The ZonePolicy, `namespace/name`, whose word counts; None: an annotation's or the ConfigMap's does.

    `said_by` is who says something in an annotation, as in `policy_origin`: before the owner of the route policies of
    Services give way, before the Service defaults of a Gateway.
    """
    owner = (route.owner.kind, route.owner.namespace, route.owner.name)
    gateways = [*_gateways(inventory, route)]
    strongest: list[tuple[_Place, bool | None]] = [(each, True) for each in gateways]
    strongest.append((owner, None))
    if said_by != "ingress":
        strongest.append((("Service", route.service.namespace, route.service.name), None))
    if said_by not in {"ingress", "service"}:
        strongest += [(each, False) for each in gateways]
    for place, overrides in strongest:
        for each in sorted(inventory.of(ZonePolicyObject), key=key_of):
            if place in _targets(each) and _sets(each, overrides=overrides):
                return "/".join(key_of(each))
    return None


def _sets(policy: ZonePolicyObject, *, overrides: bool | None) -> bool:
    """Whether a policy names a zone policy, in its overrides, its defaults, or (None) in either."""
    by_overrides, by_defaults = policy.spec.overrides.policy is not None, policy.spec.defaults.policy is not None
    if overrides is None:
        return by_overrides or by_defaults
    return by_overrides if overrides else by_defaults


def _targets(policy: ZonePolicyObject) -> Iterator[_Place]:
    yield from ((each.kind, policy.metadata.namespace, each.name) for each in policy.spec.target_refs)


def _gateways(inventory: Inventory, route: RouteName) -> Iterator[_Place]:
    found = _route(inventory, route)
    for each in found.spec.parent_refs if found is not None else ():
        if each.kind == Gateway.kind.value:
            yield each.kind, each.namespace or route.owner.namespace, each.name


def _route(inventory: Inventory, route: RouteName) -> GatewayRoute | None:
    key = route.owner.namespace, route.owner.name
    for kind in ROUTE_RECORDS:
        if kind.kind.value == route.owner.kind:
            return next((each for each in inventory.of(kind) if key_of(each) == key), None)
    return None
