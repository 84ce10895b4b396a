"""From a host of the model to its table: the simplest one that its routes allow."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import NamedTuple

from balancer.matching.careful_tables import CarefulTable
from balancer.matching.choice_tables import ChoiceTable, needs_choices
from balancer.matching.gates.making import GateMaker
from balancer.matching.host_tables import ExpressionTable, HostTable, PathTable
from balancer.matching.served import Match
from balancer.model.gates import GateRule, protecting
from balancer.model.routes import Host, PathKind, PathParameters, Route


def compiling_host(host: Host, default: Match | None, make: GateMaker) -> Generator[None, None, HostTable]:
    """The table of one host, in steps. `default` answers the paths of a host without a default of its own."""
    table: HostTable
    if needs_choices(host):
        table = yield from ChoiceTable.compiling(host, default, make)
    elif any(route.kind is PathKind.REGEX for route in host.routes):
        table = yield from ExpressionTable.compiling(host, default, make)
    else:
        table = PathTable(host, default, make)
    care = care_for(host, default)
    if not care.compares and host.path_parameters is not PathParameters.STRIP:
        return table
    return CarefulTable(table, care.compares, care.searches)


class Care(NamedTuple):
    """How carefully paths are read. `protections` are the kinds of protection of routes: whether a route is closed, and
    its gates. `searches`: a path or a value may be searched for expressions that take long.
    """

    protections: frozenset[tuple[bool, tuple[GateRule, ...]]]
    searches: bool

    @property
    def compares(self) -> bool:
        """Whether some routes have gates that others do not have."""
        return len(self.protections) > 1


def care_for(host: Host, default: Match | None) -> Care:
    """What the paths of a host ask for. `default` is as for `compiling_host`."""
    kinds = {_protection(route) for route in host.routes}
    if host.default is not None:
        kinds.add(_protection(host.default))
    elif default is not None:
        kinds.add(_protection(default.served.route))
    return Care(frozenset(kinds), any(map(_is_searched, host.routes)))


def care_for_all(cares: Iterable[Care]) -> Care:
    """What hosts together ask for."""
    known = tuple(cares)
    return Care(frozenset().union(*(each.protections for each in known)), any(each.searches for each in known))


def _protection(route: Route) -> tuple[bool, tuple[GateRule, ...]]:
    return route.closed, protecting(route.all_gates)


def _is_searched(route: Route) -> bool:
    asked = (*route.conditions.fields, *route.conditions.query)
    return bool(route.long_expression) or any(each.is_expression for each in asked)
