"""Copies requests to other backends, each to one endpoint of the own zone where there is one.

An endpoint that gets copies is not judged by them, so a copy is no probe and does not count as load.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable

from balancer.http.streams import Outgoing
from balancer.matching.gates.external_auth.requests import AuthRequest
from balancer.matching.gates.verdicts import Asked
from balancer.matching.mirroring import BackendCopies
from balancer.picking.backend import BackendRuntime
from balancer.picking.members import label_of
from balancer.proxy.bodies import KeptBody
from balancer.proxy.context import RequestContext
from balancer.proxy.mirroring import Mirrors
from balancer.proxy.spooling import SpooledBody
from balancer.proxy.succession import handshake_of

_LOOKED_AT_MOST = 8  # a backend may have thousands of endpoints


def copy_to_backends(
    context: RequestContext,
    outgoing: Outgoing,
    asked: Asked,
    rules: tuple[BackendCopies, ...],
    body: SpooledBody | None,
) -> KeptBody | None:
    """Begins the copies of a request. Returns the body, or what has to get it as it passes."""
    mirrors, request = context.supplies.mirrors, asked.request
    if mirrors is None or request.upgrade:
        return body
    due = [rule for rule in rules if rule.is_due(request, random.randrange)]
    found = (_copy(context, outgoing, asked, rule, mirrors) for rule in due)
    kept = mirrors.copy(tuple(copy for copy in found if copy is not None), request, body)
    if kept is not None and kept is not body:
        kept.count(context.supplies.forwarder.bodies, context.match.served.main.tenant)
    return kept


def endpoint_for(runtime: BackendRuntime, now: float, random_below: Callable[[int], int]) -> str | None:
    """The label of an endpoint for a copy: a healthy one of the own zone, if a few looks find one; else any of them."""
    pools = runtime.balancer(None, now).pools
    pool = pools.zonal or pools.general
    if pools.refuses or not pool:
        return None
    begin = random_below(len(pool))
    labels = [label_of(pool[(begin + place) % len(pool)]) for place in range(min(len(pool), _LOOKED_AT_MOST))]
    return next((label for label in labels if runtime.members[label].health.is_well), labels[0])


def _copy(
    context: RequestContext, outgoing: Outgoing, asked: Asked, rule: BackendCopies, mirrors: Mirrors
) -> AuthRequest | None:
    runtime = context.view.backends.get(rule.backend)
    label = None if runtime is None else endpoint_for(runtime, time.perf_counter(), random.randrange)
    if runtime is None or label is None:
        mirrors.drop()
        return None
    tls = handshake_of(runtime, secure=asked.secure)
    return rule.copy_of(asked, outgoing, label, tls=tls, http2=runtime.http2)
