"""Explains where a connection goes that is carried as bytes: which entry point takes it, which route, and which share.

Asks the tables that decide about connections. Does not know how an endpoint is chosen.
"""

from __future__ import annotations

from typing import NamedTuple

from balancer.explain.asking import Question, UrlScheme
from balancer.live import View
from balancer.matching.destinations import Destination
from balancer.matching.relay_tables import Relayed, Unrouted
from balancer.model.entry_points import EntryPoint, Protocol
from balancer.model.relays import RelayRoute
from balancer.model.routes import Branch, PathKind, Route


class Stream(NamedTuple):
    """Where a connection comes in, and what takes it; None: nothing does, so it is reset."""

    entry_point: EntryPoint
    taken: Relayed | None


def stream_of(question: Question, view: View) -> Stream | None:
    """The stream that `question` is about; None: HTTP is spoken, or the port has no entry point for streams.

    As for requests, an entry point of Ingresses comes before others of the port, which are on sockets of their own.
    """
    others = (each for each in view.model.entry_points if each.port == question.port)
    own = (question.entry_point,) if question.scheme is UrlScheme.HTTPS else ()
    host = question.request.host_name.decode()
    for each in (*own, *others):
        table = view.relays.tables.get(each.configuration)
        if table is None or not _fits(each, question):
            if each in own and view.configurations[each.key].host(question.request.host_name) is not None:
                return None
            continue
        choice = table.find(None if each.protocol is Protocol.TCP else host)
        if isinstance(choice, Relayed):
            return Stream(each, choice)
        if isinstance(choice, Unrouted) and each.protocol is not Protocol.HTTPS:
            return Stream(each, None)
        if choice is None and view.configurations[each.key].host(question.request.host_name) is not None:
            return None
    return None


def _fits(entry_point: EntryPoint, question: Question) -> bool:
    is_tcp = question.scheme is UrlScheme.TCP
    if question.scheme is UrlScheme.HTTP:
        return False
    return entry_point.protocol is Protocol.TCP if is_tcp else entry_point.reads_hello


def stream_steps(stream: Stream, question: Question) -> list[str]:
    """Who takes the connection, and in which shares."""
    entry_point, host = stream.entry_point, question.request.host_name.decode()
    asked = f"{host} in its ClientHello" if entry_point.reads_hello else "no name"
    steps = [f"A connection to port {entry_point.port} comes in at entry point {entry_point.key}, and says {asked}."]
    if stream.taken is None:
        return [*steps, "No route has that name there, so the connection is reset."]
    route = stream.taken.route
    name = f"the name {route.name}" if route.name else "every connection"
    steps.append(
        f"{route.owner.kind} {route.owner.full_name} has {name} of listener {route.listener}: {_carried(route)}."
    )
    if len(route.branches) > 1:
        total = sum(each.weight for each in route.branches)
        shares = ", ".join(f"{each.weight / total:.1%} to {each.service.full_name}" for each in route.branches)
        steps.append(f"Of its connections go {shares}.")
    return steps


def destination_of(taken: Relayed) -> Destination:
    """The largest share of a route; the first one wins ties."""
    route = taken.route
    chosen: Branch = max(route.branches, key=lambda each: each.weight)
    # Streams have no path. What is asked of a destination from here on is its branch.
    return Destination(Route("/", PathKind.PREFIX, route.owner, route.branches), chosen)


def _carried(route: RelayRoute) -> str:
    if route.ends_tls:
        return "TLS ends at zonal, and the endpoint gets what is inside"
    return "its bytes go to one endpoint as they are"
