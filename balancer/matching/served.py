"""What serves a request: a route of the model with everything that is made of it at the swap."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import msgspec

from balancer.errors import ErrorKind
from balancer.http.messages import RequestHead, may_upgrade
from balancer.matching.branches import HasEndpoints, Junction, junction_of
from balancer.matching.destinations import Destination, PathCount
from balancer.matching.editing import editors_of
from balancer.matching.gates.hooks import RouteHooks
from balancer.matching.gates.making import GateMaker, gates_of
from balancer.matching.mirroring import MirrorRequests, backend_copies_of
from balancer.matching.path_replacement import PathReplacer
from balancer.matching.rewriting import Rewriter
from balancer.matching.stand_ins import stand_ins_of
from balancer.model.cors import CorsPolicy, CorsPolicyPreflight
from balancer.model.gates import in_phases
from balancer.model.rewriting import Rewriting
from balancer.model.routes import Branch, BranchFilters, Route


class ClosedPath(NamedTuple):
    """Every request is refused with this error."""

    kind: ErrorKind


class Fork:
    """The branches of a route of which one has filters of its own: each as a route that has this branch alone.

    The branch is chosen before gates are asked, because they may be gates of the branch. What serves a branch is made
    for its first request: a route may have thousands of places with many branches each, and a swap must not wait.
    """

    __slots__ = ("_alone", "_main", "_make", "_route", "junction")

    def __init__(self, route: Route, make: GateMaker, main: Destination, junction: Junction | None) -> None:
        """`main` is the main branch. `junction` None: it is the only one."""
        self.junction = junction
        self._route = route
        self._make = make
        self._main = main
        self._alone: dict[Destination, Served] = {}

    @property
    def main(self) -> Served:
        """What serves requests of the main branch."""
        return self.leading_to(self._main)

    def choose(
        self, request: RequestHead, *, has_endpoints: HasEndpoints, random_below: Callable[[int], int]
    ) -> Served:
        """What serves `request`."""
        if self.junction is None:
            return self.main
        return self.leading_to(self.junction.choose(request, has_endpoints=has_endpoints, random_below=random_below))

    def leading_to(self, to: Destination) -> Served:
        """What serves requests of one branch."""
        served = self._alone.get(to)
        if served is None:
            served = Served(narrowed(self._route, to.branch), self._make, count=to.count)
            self._alone[to] = served
        return served


class Served:
    """A route with everything that requests need of it and that is known at the swap.

    `main` is where requests go if `junction` is None, because the route has one branch; else the main branch.
    `plain_gates` and `secure_gates` are for requests over http and https. `editors` change every response. `host`
    replaces the client's Host; None keeps that. `connection` is what endpoints read in Connection, empty for the usual.
    `rewriting` gives endpoints another target; None keeps that of the client. `apart` keeps requests from going the way
    of all others: a closed path, branches with filters, or hooks; None for nearly all routes. `stand_ins` is None if
    nothing stands in for the backend. `mirroring` is None if no URL gets copies, and `mirrors` make those for backends;
    `is_copied`: one of the two does. `is_straight`: a request whose gates let it pass unchanged goes to `main` with no
    other change than those of `host`, `rewriting` and what `main` edits.
    """

    __slots__ = (
        "apart",
        "connection",
        "editors",
        "host",
        "is_copied",
        "is_straight",
        "junction",
        "main",
        "mirroring",
        "mirrors",
        "plain_gates",
        "rewriting",
        "route",
        "secure_gates",
        "stand_ins",
    )

    def __init__(
        self,
        route: Route,
        make: GateMaker,
        host_name: str = "",
        *,
        closing: ErrorKind | None = None,
        count: PathCount | None = None,
    ) -> None:
        """`host_name` is that of the host of the model, empty for every host. `closing`: every request is refused with
        this error, although the route is open. `count` is where requests count; None: in a place of their own.
        """
        self.route = route
        gates = gates_of(route, make)
        self.plain_gates = gates.plain
        self.secure_gates = gates.secure
        self.editors = editors_of(route.response_rules)
        count = PathCount(host_name) if count is None else count
        self.junction = junction_of(route, count)
        self.main = Destination(route, route.main, count) if self.junction is None else self.junction.main
        self.host = route.policy.host.encode() if route.policy.host else None
        self.connection = route.policy.connection.encode() or (b"close" if route.policy.http_1_0 else b"")
        self.rewriting = _rewriter_of(route)
        self.mirroring = MirrorRequests(route.mirroring) if route.mirroring is not None else None
        self.mirrors = backend_copies_of(route)
        self.is_copied = self.mirroring is not None or bool(self.mirrors)
        is_closed = route.closed or closing is not None
        closed = ClosedPath(closing or ErrorKind.PATH_CLOSED) if is_closed else None
        self.apart = closed or _fork_of(route, make, self.main, self.junction) or gates.hooks
        self.stand_ins = stand_ins_of(route)
        self.is_straight = not (self.apart or self.junction or self.connection or self.is_copied or self.stand_ins)

    @property
    def closed(self) -> bool:
        """Whether every request is refused."""
        return isinstance(self.apart, ClosedPath)

    @property
    def closed_as(self) -> ErrorKind:
        """The error that requests of a closed path get."""
        return self.apart.kind if isinstance(self.apart, ClosedPath) else ErrorKind.PATH_CLOSED

    @property
    def hooks(self) -> RouteHooks | None:
        """The hooks of the operator that the route asks."""
        return self.apart if isinstance(self.apart, RouteHooks) else None

    @property
    def fork(self) -> Fork | None:
        """The branches, if one of them has filters of its own."""
        return self.apart if isinstance(self.apart, Fork) else None

    def leading_to(self, to: Destination) -> Served:
        """This route as it serves a request that leads `to` one branch."""
        made = Served.__new__(Served)
        for name in _COPIED:
            setattr(made, name, getattr(self, name))
        setattr(made, "junction", None)  # noqa: B010 -- served routes are never changed, so nothing may assign this
        setattr(made, "main", to)  # noqa: B010
        return made

    def offering(self, request: RequestHead) -> RequestHead:
        """`request` with its upgrade if the endpoint may be offered it, else without."""
        if not self.connection and may_upgrade(request, self.route.policy.upgrade_protocols):
            return request
        return msgspec.structs.replace(request, upgrade=b"")


_COPIED = tuple(name for name in Served.__slots__ if name not in {"junction", "main"})


class Match:
    """What serves a request, and what the groups of the route's regular expression captured of the path."""

    __slots__ = ("captures", "served")

    def __init__(self, served: Served, captures: tuple[bytes, ...] = ()) -> None:
        self.served = served
        self.captures = captures


def narrowed(route: Route, branch: Branch) -> Route:
    """The route as if it had one `branch` alone, with its filters. CORS of the branch replaces that of the route."""
    own = branch.filters or BranchFilters()
    answers = any([isinstance(gate, CorsPolicyPreflight) for gate in own.gates])
    kept = [gate for gate in route.gates if not (answers and isinstance(gate, CorsPolicyPreflight))]
    rules = [rule for rule in route.response_rules if not (answers and isinstance(rule, CorsPolicy))]
    return msgspec.structs.replace(
        route,
        branches=(msgspec.structs.replace(branch, filters=None, request_edits=(), response_rules=()),),
        policy=route.policy if own.host is None else msgspec.structs.replace(route.policy, host=own.host),
        gates=in_phases((*kept, *own.gates)),
        rewriting=own.rewriting or route.rewriting,
        mirrors=(*route.mirrors, *own.mirrors),
        request_edits=(*route.request_edits, *branch.request_edits),
        response_rules=(*rules, *branch.response_rules),
    )


def _fork_of(route: Route, make: GateMaker, main: Destination, junction: Junction | None) -> Fork | None:
    """The branches of a route, if one of them has filters of its own."""
    if not any([branch.filters is not None for branch in route.branches]):
        return None
    return Fork(route, make, main, junction)


def _rewriter_of(route: Route) -> Rewriter | PathReplacer | None:
    rule = route.rewriting
    if isinstance(rule, Rewriting):
        return Rewriter(rule, route.expression)
    return None if rule is None else PathReplacer(rule)
