"""Reads the annotations of routes: what they set for their own requests.

Zones and health as on a Service, and on HTTPRoutes and GRPCRoutes what Gateway API has no field for: times, sizes,
source ranges and limits, under the names of the annotations of Ingresses with our prefix.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from balancer.model.policies import RoutePolicy
from ingress.findings import Findings, Report, Severity
from ingress.objects.gateway_routes import GrpcRoute, HttpRoute
from ingress.objects.kinds import subject_of
from ingress.settings.reading import read_options
from ingress.settings.table.limits import LimitSettings
from ingress.settings.table.option import OWN_PREFIX, Option, OptionSource, Overrides
from ingress.settings.table.source_ranges import SourceSettings
from ingress.settings.table.whole import INGRESS_OPTIONS, SERVICE_OPTIONS
from ingress.translation.gateway.route_reading import ReadRoute

_STRUCTS: Final = (RoutePolicy, SourceSettings, LimitSettings)
# Gateway API has the filter URLRewrite for it.
_LEFT_OUT: Final = frozenset({"upstream-vhost"})

ROUTE_ANNOTATIONS: Final[Mapping[str, Option]] = {
    OWN_PREFIX + option.name: option
    for option in INGRESS_OPTIONS.values()
    if option.fills is not None and option.fills[0] in _STRUCTS and option.name not in _LEFT_OUT
}
"""What HTTPRoutes and GRPCRoutes may set beside the options of a Service, by annotation."""


class RouteSettings(msgspec.Struct, frozen=True):
    """What the annotations of a route set. `closed`: one that protects cannot be read, so every request gets 503."""

    overrides: Overrides = Overrides()
    closed: bool = False


NO_SETTINGS: Final = RouteSettings()


def route_settings(routes: Iterable[ReadRoute], findings: Findings) -> dict[tuple[str, str, str], RouteSettings]:
    """What routes set, by kind, namespace and name. Routes without annotations are left out."""
    found: dict[tuple[str, str, str], RouteSettings] = {}
    for each in routes:
        metadata = each.route.metadata
        if metadata.annotations:
            report = findings.about(subject_of(each.route))
            is_http = isinstance(each.route, (HttpRoute, GrpcRoute))
            found[each.route.kind.value, metadata.namespace, metadata.name] = _read(
                metadata.annotations, report, is_http=is_http
            )
    return found


def _read(annotations: Mapping[str, str], report: Report, *, is_http: bool) -> RouteSettings:
    as_service = read_options(annotations, SERVICE_OPTIONS, source=OptionSource.SERVICE, report=report)
    if not is_http:
        return RouteSettings(as_service.overrides)
    own = read_options(annotations, ROUTE_ANNOTATIONS, source=OptionSource.INGRESS, report=report)
    for each in own.refused:
        report.add(
            reason="InvalidValue",
            message=f"{each.why}.",
            effect="Every request of the route answers 503.",
            severity=Severity.CLOSED,
        )
    return RouteSettings(Overrides({**as_service.overrides.values, **own.overrides.values}), closed=bool(own.refused))
