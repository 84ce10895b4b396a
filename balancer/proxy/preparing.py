"""Changes a request that is about to be forwarded, and where it goes, as route, gates and settings say."""

from __future__ import annotations

import random
import time
from typing import NamedTuple

from balancer.errors import ErrorKind
from balancer.http.passing import written_alike
from balancer.http.streams import Outgoing
from balancer.matching.destinations import Destination
from balancer.matching.gates.leading import LedHead, sent_on
from balancer.matching.gates.verdicts import Asked, Go
from balancer.matching.mirroring import MirrorRequests
from balancer.matching.served import Match, Served
from balancer.proxy.bodies import KeptBody
from balancer.proxy.context import RequestContext
from balancer.proxy.copying import copy_to_backends
from balancer.proxy.spooling import SpooledBody

NOTHING: frozenset[int] = frozenset()
"""No status that is answered by somebody else."""


class Prepared(NamedTuple):
    """To whom a changed request goes; the fields are the arguments of `Attempts.begin`."""

    to: Destination
    now: float
    kept: KeptBody | None
    intercepts: frozenset[int]


def prepare(
    context: RequestContext, outgoing: Outgoing, match: Match, go: Go | None, body: SpooledBody | None
) -> Prepared | ErrorKind:
    """Changes `outgoing`, and says who gets it, or why nobody may.

    `go` is the verdict of the gates of the route. `body` is the whole body if it was received before.
    """
    served, request, account, view = match.served, outgoing.request, context.account, context.view
    to, stand_ins = _destination_of(context, served), served.stand_ins
    if served.connection:
        outgoing.connection = served.connection
        outgoing.http_1_0 = to.policy.http_1_0
    now = account.started
    if go is not None:
        outgoing.added = go.added
        outgoing.removed = go.removed
        if go.removed and outgoing.passing.underscores:
            outgoing.removed |= written_alike(request.fields, go.removed)
        context.editors += go.editors
        now = time.perf_counter()  # a gate may have waited
        if isinstance(request, LedHead):
            outgoing.request = sent_on(request)
    if served.rewriting is not None:
        refused = served.rewriting.rewrite(outgoing, match.captures)
        if refused is not None:
            return refused
    asked = None
    if view.request_fields is not None or served.is_copied:
        asked = Asked(request, context.origin, context.stream.secure, match.captures)
    if view.request_fields is not None and asked is not None:
        view.request_fields.put_on(outgoing, asked, to.names, time.time())
    if to.is_edited:
        context.editors += to.editors
        to.edit(outgoing)
    kept = body if asked is None else _copied(context, outgoing, asked, served, body)
    intercepts = NOTHING if stand_ins is None else stand_ins.prepare(outgoing, to)
    return Prepared(to, now, kept, intercepts)


def changed(context: RequestContext, outgoing: Outgoing, match: Match) -> ErrorKind | None:
    """Changes `outgoing` as a straight route says (`Served.is_straight`). Returns why it may not be sent."""
    served = match.served
    if served.rewriting is not None:
        refused = served.rewriting.rewrite(outgoing, match.captures)
        if refused is not None:
            return refused
    to = served.main
    if to.is_edited:
        context.editors += to.editors
        to.edit(outgoing)
    return None


def _destination_of(context: RequestContext, served: Served) -> Destination:
    """Where the request goes now: to a branch of its route, or to what stands in for its main branch."""
    account, to, has_endpoints = context.account, served.main, context.view.has_endpoints
    stand_in = None if served.stand_ins is None else served.stand_ins.instead_of(to, has_endpoints)
    if stand_in is not None:
        return stand_in  # the account keeps where the client wanted to go
    if served.junction is not None:
        assert account.request is not None
        to = served.junction.choose(account.request, has_endpoints=has_endpoints, random_below=random.randrange)
        account.destination = to
    return to


def _copied(
    context: RequestContext, outgoing: Outgoing, asked: Asked, served: Served, body: SpooledBody | None
) -> KeptBody | None:
    """Begins the copies of the request. Returns the body, or what has to get it as it passes.

    No route has a URL and backends as mirrors: their languages differ.
    """
    if not served.is_copied:
        return body
    if served.mirroring is None:
        return copy_to_backends(context, outgoing, asked, served.mirrors, body)
    return _mirrored(context, asked, served.mirroring, body)


def _mirrored(
    context: RequestContext, asked: Asked, mirroring: MirrorRequests, body: SpooledBody | None
) -> KeptBody | None:
    supplies = context.supplies
    mirrors = supplies.mirrors
    if mirrors is None or asked.request.upgrade:
        return body
    kept = mirrors.begin(mirroring, asked, body)
    if kept is not None and kept is not body:
        kept.count(supplies.forwarder.bodies, context.match.served.main.tenant)
    return kept
