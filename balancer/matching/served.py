"""What serves a request: a route of the model with everything that is made of it at the swap."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from balancer.errors import ErrorKind
from balancer.http.messages import RequestHead, may_upgrade
from balancer.matching.branches import junction_of
from balancer.matching.destinations import Destination, PathCount
from balancer.matching.editing import editors_of
from balancer.matching.gates.hooks import RouteHooks
from balancer.matching.gates.making import GateMaker, gates_of
from balancer.matching.mirroring import MirrorRequests, backend_copies_of
from balancer.matching.path_replacement import PathReplacer
from balancer.matching.rewriting import Rewriter
from balancer.matching.stand_ins import stand_ins_of
from balancer.model.rewriting import Rewriting
from balancer.model.routes import Route


class ClosedPath(NamedTuple):
    """Every request is refused with this error."""

    kind: ErrorKind


class Served:
    """A route with everything that requests need of it and that is known at the swap.

    `main` is where requests go if `junction` is None, because the route has one branch; else the main branch.
    `plain_gates` and `secure_gates` are for requests over http and https. `editors` change every response. `host`
    replaces the client's Host; None keeps that. `connection` is what endpoints read in Connection, empty for the usual.
    `rewriting` gives endpoints another target; None keeps that of the client. `apart` keeps requests from going the way
    of all others: a closed path, or hooks; None for nearly all routes. `stand_ins` is None if nothing stands in for the
    backend. `mirroring` is None if no URL gets copies, and `mirrors` make those for backends; `is_copied`: one of the
    two does. `is_plain`: a request whose gates let it pass unchanged goes to an endpoint as it came, apart from its
    Host: there is nothing else of the above, but for editors.
    """

    __slots__ = (
        "apart",
        "connection",
        "editors",
        "host",
        "is_copied",
        "is_plain",
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

    def __init__(self, route: Route, make: GateMaker, host_name: str = "", *, closing: ErrorKind | None = None) -> None:
        """`host_name` is that of the host of the model, empty for every host. `closing`: every request is refused with
        this error, although the route is open.
        """
        self.route = route
        gates = gates_of(route, make)
        self.plain_gates = gates.plain
        self.secure_gates = gates.secure
        self.editors = editors_of(route.response_rules)
        count = PathCount(host_name)
        self.junction = junction_of(route, count)
        self.main = Destination(route, route.main, count) if self.junction is None else self.junction.main
        self.host = route.policy.host.encode() if route.policy.host else None
        self.connection = route.policy.connection.encode() or (b"close" if route.policy.http_1_0 else b"")
        self.rewriting = _rewriter_of(route)
        self.mirroring = MirrorRequests(route.mirroring) if route.mirroring is not None else None
        self.mirrors = backend_copies_of(route)
        self.is_copied = self.mirroring is not None or bool(self.mirrors)
        is_closed = route.closed or closing is not None
        self.apart = ClosedPath(closing or ErrorKind.PATH_CLOSED) if is_closed else gates.hooks
        self.stand_ins = stand_ins_of(route)
        self.is_plain = not (
            self.apart
            or self.junction
            or self.main.is_edited
            or self.connection
            or self.rewriting
            or self.is_copied
            or self.stand_ins
        )

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
        return None if isinstance(self.apart, ClosedPath) else self.apart

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


def _rewriter_of(route: Route) -> Rewriter | PathReplacer | None:
    rule = route.rewriting
    if isinstance(rule, Rewriting):
        return Rewriter(rule, route.expression)
    return None if rule is None else PathReplacer(rule)
