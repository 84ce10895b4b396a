"""The table of hosts where it matters in which way endpoints read a path."""

from __future__ import annotations

from balancer.errors import ErrorKind, Refusal
from balancer.http.messages import RequestHead
from balancer.matching.host_tables import HostTable
from balancer.matching.path_readings import READINGS_FEW, READINGS_MOST, path_without_parameters, readings
from balancer.matching.served import Match
from balancer.model.gates import protecting
from balancer.model.routes import PathParameters, Route

_QUERY_MARK = ord("?")


class CarefulTable(HostTable):
    """Routes where it matters in which way their endpoints read a path.

    `_compares`: some of their paths have gates that others do not have.
    """

    __slots__ = ("_compares", "_most", "_parameters", "routes")

    def __init__(self, routes: HostTable, compares: bool, searches: bool = False) -> None:
        """`searches`: each reading may be searched for expressions that take long, so few are tried."""
        self.host = routes.host
        self.routes = routes
        self._compares = compares
        self._most = READINGS_FEW if searches else READINGS_MOST
        self._parameters = routes.host.path_parameters

    def match(self, path: bytes, target: bytes, request: RequestHead | None = None) -> Match | None:
        """The match of a path that every endpoint reads alike costs three comparisons more than in another table."""
        size, routes = len(path), self.routes
        is_plain = target.startswith(path) and path.find(b";") < 0 and path.isascii()
        if is_plain and (len(target) == size or target[size] == _QUERY_MARK):
            return routes.match(path, target, request)
        if target[:1] != b"/":  # the asterisk of OPTIONS
            return routes.match(path, target, request)
        return self._compared(path, target, request)

    def _compared(self, path: bytes, target: bytes, request: RequestHead | None) -> Match | None:
        """The match, unless the target has a reading that leads to a path with other gates."""
        routes, parameters = self.routes, self._parameters
        if parameters is PathParameters.STRIP:
            path = path_without_parameters(target)
        match = routes.match(path, target, request)
        if match is None or not self._compares:
            return match
        for reading in readings(target, strips_parameters=parameters is not PathParameters.PASS, most=self._most):
            other = routes.match(reading, target, request)
            if other is not None and not _covers(match.served.route, other.served.route):
                raise Refusal(ErrorKind.BAD_REQUEST, "a path that an endpoint could read as a protected one")
        return match


def _covers(route: Route, other: Route) -> bool:
    """Whether `route` lets nobody in whom `other` would keep out."""
    if route is other or route.closed:
        return True
    gates = protecting(route.gates)
    return not other.closed and all(rule in gates for rule in protecting(other.all_gates))
