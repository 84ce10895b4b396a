"""The routes that tables match, and where they lead."""

from __future__ import annotations

from balancer.matching.destinations import Destination
from balancer.matching.routing import RouteTable
from balancer.model.routes import Route


def route_for(routes: RouteTable, host: bytes, path: bytes) -> Route | None:
    """The route that serves a request, or None."""
    match = routes.match(host, path)
    return match.served.route if match is not None else None


def destination(route: Route) -> Destination:
    """Where the main branch of a route leads."""
    return Destination(route, route.main)
