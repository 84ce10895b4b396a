"""Records what the objects behind a model say about a question, so that a worker can use it.

Provides a `Background` that can travel. Does not know Kubernetes, nor how an endpoint is chosen.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from balancer.explain.asking import Question
from balancer.explain.explaining import Background, PolicySource, SliceEntry
from balancer.matching.routing import RouteTable, Served
from balancer.model.routes import Route

_RouteName = tuple[str, str, str]
"""Namespace, Ingress and Service."""

# Between recording and answering the worker may have changed to another model.
_UNKNOWN = PolicySource("unknown", "not known, as the configuration has changed while this was asked")


class RouteRecord(msgspec.Struct, frozen=True):
    """The record of one route."""

    route: _RouteName
    source: PolicySource
    slice_steps: tuple[str, ...]
    slice_entries: tuple[SliceEntry, ...] = ()


class FindingRecord(msgspec.Struct, frozen=True):
    """Findings about the objects of some routes together; without routes, about the Ingresses that name the host."""

    routes: tuple[_RouteName, ...]
    steps: tuple[str, ...]


class RecordedBackground(msgspec.Struct, frozen=True):
    """A `Background` for one question. It knows only the recorded routes."""

    routes: tuple[RouteRecord, ...] = ()
    findings: tuple[FindingRecord, ...] = ()

    def policy_source(self, route: Route) -> PolicySource:
        """Who set the zone policy of a route."""
        record = self._about(route)
        return record.source if record is not None else _UNKNOWN

    def slice_steps(self, route: Route) -> list[str]:
        """The slices behind a route, in words."""
        record = self._about(route)
        return list(record.slice_steps) if record is not None else []

    def slice_entries(self, route: Route) -> Sequence[SliceEntry]:
        """Every endpoint of the slices behind a route."""
        record = self._about(route)
        return record.slice_entries if record is not None else ()

    def finding_steps(self, _host: str, routes: Sequence[Route]) -> list[str]:
        """Findings about the objects involved. The host is that of the question."""
        names = tuple(map(_name_of, routes))
        return [step for record in self.findings if record.routes == names for step in record.steps]

    def _about(self, route: Route) -> RouteRecord | None:
        name = _name_of(route)
        return next((record for record in self.routes if record.route == name), None)


def record(question: Question, routes: RouteTable, *, background: Background) -> RecordedBackground:
    """What `background` says about all routes of a model that an explanation of `question` may ask about."""
    request = question.request
    match = routes.match(request.host_name, request.path)
    groups: list[tuple[Route, ...]] = [()]
    if match is not None:
        route = match.served.route
        groups += [(route,), *((route, branch) for branch in _branches(match.served, question))]
    every = {_name_of(each): each for group in groups for each in group}
    return RecordedBackground(
        routes=tuple(
            RouteRecord(
                name,
                background.policy_source(each),
                tuple(background.slice_steps(each)),
                tuple(background.slice_entries(each)),
            )
            for name, each in every.items()
        ),
        findings=tuple(
            FindingRecord(
                tuple(map(_name_of, group)),
                tuple(background.finding_steps(request.host_name.decode(), group)),
            )
            for group in groups
        ),
    )


def _branches(served: Served, question: Question) -> list[Route]:
    """The routes of canaries that may serve instead of the matched route, whichever backends have endpoints."""
    junction = served.junction
    if junction is None:
        return []
    chances = junction.chances(question.request, has_endpoints=lambda _: True)
    return [branch.route for _, branch in chances if branch is not junction.main]


def _name_of(route: Route) -> _RouteName:
    return route.owner.namespace, route.owner.name, route.service
