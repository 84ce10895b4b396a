"""From a host of the model to its table: the simplest one that its routes allow."""

from __future__ import annotations

from collections.abc import Generator

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
    compares = len(protections(host, default)) > 1
    if not compares and host.path_parameters is not PathParameters.STRIP:
        return table
    return CarefulTable(table, compares)


Protections = frozenset[tuple[bool, tuple[GateRule, ...]]]
"""The kinds of protection of routes: whether a route is closed, and its gates."""


def protections(host: Host, default: Match | None) -> Protections:
    """The kinds of protection that the paths of a host have. `default` is as for `compiling_host`."""
    kinds = {_protection(route) for route in host.routes}
    if host.default is not None:
        kinds.add(_protection(host.default))
    elif default is not None:
        kinds.add(_protection(default.served.route))
    return frozenset(kinds)


def _protection(route: Route) -> tuple[bool, tuple[GateRule, ...]]:
    return route.closed, protecting(route.gates)
