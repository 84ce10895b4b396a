"""From a host of the model to its table: the simplest one that its routes allow."""

from __future__ import annotations

from collections.abc import Generator

from balancer.matching.careful_tables import CarefulTable
from balancer.matching.choice_tables import ChoiceTable, needs_choices
from balancer.matching.gates.making import GateMaker
from balancer.matching.host_tables import ExpressionTable, HostTable, PathTable
from balancer.matching.served import Match
from balancer.model.gates import protecting
from balancer.model.routes import Host, PathKind, PathParameters


def compiling_host(host: Host, default: Match | None, make: GateMaker) -> Generator[None, None, HostTable]:
    """The table of one host, in steps. `default` answers the paths of a host without a default of its own."""
    table: HostTable
    if needs_choices(host):
        table = yield from ChoiceTable.compiling(host, default, make)
    elif any(route.kind is PathKind.REGEX for route in host.routes):
        table = yield from ExpressionTable.compiling(host, default, make)
    else:
        table = PathTable(host, default, make)
    compares = _is_unevenly_protected(host, default)
    if not compares and host.path_parameters is not PathParameters.STRIP:
        return table
    return CarefulTable(table, compares)


def _is_unevenly_protected(host: Host, default: Match | None) -> bool:
    """Whether some paths of the host have gates that others do not have."""
    kinds = {(route.closed, protecting(route.gates)) for route in host.routes}
    if host.default is not None:
        kinds.add((host.default.closed, protecting(host.default.gates)))
    elif default is not None:
        kinds.add((default.served.route.closed, protecting(default.served.route.gates)))
    return len(kinds) > 1
