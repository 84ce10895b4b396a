"""What the objects behind a model tell about a question, recorded where the objects are, for where the model serves.

Responsible for a `Background` that can travel. It must not know Kubernetes, nor how an endpoint is chosen.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from balancer.asking import Question
from balancer.explaining import Background, PolicySource
from balancer.model import Route
from balancer.routing import RouteTable

_RouteName = tuple[str, str, str]
"""Namespace, Ingress and Service."""

# Between recording and answering the worker may have come to another model.
_UNKNOWN = PolicySource("unknown", "not known, as the configuration has changed while this was asked")


class RouteRecord(msgspec.Struct, frozen=True):
    """What is told about one route."""

    route: _RouteName
    source: PolicySource
    slice_steps: tuple[str, ...]


class FindingRecord(msgspec.Struct, frozen=True):
    """What is wrong with the objects of some routes together; of none: with those that name the host."""

    routes: tuple[_RouteName, ...]
    steps: tuple[str, ...]


class RecordedBackground(msgspec.Struct, frozen=True):
    """A `Background` for one question: it knows what it was told, and of other routes nothing."""

    routes: tuple[RouteRecord, ...] = ()
    findings: tuple[FindingRecord, ...] = ()

    def policy_source(self, route: Route) -> PolicySource:
        """Where the zone policy of a route was set."""
        record = self._about(route)
        return record.source if record is not None else _UNKNOWN

    def slice_steps(self, route: Route) -> list[str]:
        """What the slices behind a route say."""
        record = self._about(route)
        return list(record.slice_steps) if record is not None else []

    def finding_steps(self, _host: str, routes: Sequence[Route]) -> list[str]:
        """What is wrong with the objects involved; the host is that of the question."""
        names = tuple(map(_name_of, routes))
        return [step for record in self.findings if record.routes == names for step in record.steps]

    def _about(self, route: Route) -> RouteRecord | None:
        name = _name_of(route)
        return next((record for record in self.routes if record.route == name), None)


def record(question: Question, routes: RouteTable, *, background: Background) -> RecordedBackground:
    """What `background` tells about the routes of a model that an explanation of `question` may ask about."""
    request = question.request
    route = routes.match(request.host_name, request.path)
    groups: list[tuple[Route, ...]] = [()]
    if route is not None:
        groups += [(route,), *((route, served) for served in _branches(route, question, routes))]
    every = {_name_of(each): each for group in groups for each in group}
    return RecordedBackground(
        routes=tuple(
            RouteRecord(name, background.policy_source(each), tuple(background.slice_steps(each)))
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


def _branches(route: Route, question: Question, routes: RouteTable) -> list[Route]:
    """The routes of canaries that may serve in place of `route`, whichever backends have endpoints."""
    junction = routes.junctions.get(id(route))
    if junction is None:
        return []
    chances = junction.chances(question.request, has_endpoints=lambda _: True)
    return [branch.route for _, branch in chances if branch is not junction.main]


def _name_of(route: Route) -> _RouteName:
    return route.namespace, route.ingress, route.service
