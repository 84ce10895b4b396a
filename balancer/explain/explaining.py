"""Explains where a request goes and why, step by step: what `/debug/explain` and `zonal explain` show.

Asks the code that serves requests (routes, junctions, sessions, balancers) for every decision and puts the answers in
order. Does not know Kubernetes: a `Background` adds what the cluster's objects say. Takes no turn and draws no random
number.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

import msgspec

from balancer.errors import ErrorKind
from balancer.explain.admitting import Admission, gate_steps, location_of, origin_of, origin_steps, redirect_steps
from balancer.explain.asking import Question, RefusedRequest
from balancer.explain.branching import branching_of
from balancer.explain.comparing import host_steps, path_steps
from balancer.explain.foreseeing import Prospect, foresee
from balancer.explain.limits import Limits, limits_of
from balancer.explain.mirroring import mirror_steps
from balancer.explain.rewriting import rewritten_target
from balancer.explain.telling import (
    affinity_steps,
    certificate_steps,
    decision_steps,
    endpoint_state,
    endpoint_steps,
    limit_step,
    own_zone_step,
    policy_steps,
    policy_text,
)
from balancer.live import View
from balancer.matching.branches import Branch
from balancer.matching.certificates import CertificateFacts, by_server_name, certificate_for, facts_of
from balancer.matching.gates.verdicts import Deny, Reply
from balancer.matching.routing import Served
from balancer.model.routes import Route
from balancer.model.zones import OwnZone
from balancer.picking.backend import BackendRuntime
from balancer.proxy.answers import ANSWERS


class CandidateEndpoint(msgspec.Struct, frozen=True):
    """An endpoint that the request may reach, as `address:port`. A `zone` of None is unknown."""

    endpoint: str
    zone: str | None
    probability: float


class Share(msgspec.Struct, frozen=True):
    """Mode and reason of a share of the requests, if equal requests can be treated differently."""

    mode: str
    reason: str | None
    probability: float


class EndpointFacts(msgspec.Struct, frozen=True):
    """One endpoint that the slices of the Service name: `address:port`, or the address alone if it is not used.

    `state` says its conditions, and its health if a running ingress answers. Unknown values are None.
    """

    endpoint: str
    zone: str | None
    node: str | None
    pod: str | None
    state: str


class Explanation(msgspec.Struct, frozen=True):
    """Where a request goes. References are `namespace/name`; missing values are None.

    `status` is the status with which zonal itself answers, with the `error` kind (an `ErrorKind`) or the `location` of
    a redirect. It is None if an endpoint answers, which gets `target` if that is not the client's. `certificate` is the
    one of a request over TLS, or of the request that follows a redirect. `endpoints` has every endpoint once.

    `mode`, `reason` and `endpoint` belong to the most probable share. `shares` is set if there are several shares, and
    `dry_run_reason` in a dry run. `to_zone` is None also if the pool spans zones. `endpoint` is the next endpoint of
    this worker, and only set if the worker serves.
    """

    host: str
    path: str
    ingress: str | None
    service: str | None
    canary: str | None
    own_zone: str | None
    own_zone_source: str
    policy: str | None
    policy_source: str | None
    mode: str | None
    reason: str | None
    pool: tuple[CandidateEndpoint, ...]
    endpoint: str | None
    to_zone: str | None
    steps: tuple[str, ...]
    shares: tuple[Share, ...] | msgspec.UnsetType = msgspec.UNSET
    dry_run_reason: str | msgspec.UnsetType = msgspec.UNSET
    status: int | None = None
    error: str | None = None
    location: str | None = None
    target: str | None = None
    certificate: CertificateFacts | None = None
    limits: Limits | None = None
    endpoints: tuple[EndpointFacts, ...] = ()


class SliceEntry(msgspec.Struct, frozen=True):
    """What a slice says about one endpoint: `address` in canonical form, `state` in words."""

    address: str
    zone: str | None
    node: str | None
    pod: str | None
    state: str


class PolicySource(NamedTuple):
    """Who set the zone policy of a route: default, configmap, service, ingress or flag-off; and a sentence."""

    source: str
    sentence: str


class Background(Protocol):
    """What the control plane knows about the objects behind a model."""

    def policy_source(self, route: Route) -> PolicySource:
        """Who set the policy of a route; for the route of a canary, who set the canary's policy."""

    def slice_steps(self, route: Route) -> list[str]:
        """The slices behind a route, with the number of their endpoints by zone."""

    def slice_entries(self, route: Route) -> Sequence[SliceEntry]:
        """Every endpoint of the slices behind a route, also unused endpoints."""

    def finding_steps(self, host: str, routes: Sequence[Route]) -> list[str]:
        """Findings about the objects of `routes`; without routes, about the Ingresses that name the host."""


def explain(question: Question, view: View, *, background: Background, now: float, live: bool) -> Explanation:
    """Where requests like `question` go in `view` at `now`, in seconds of the clock of picks.

    `live` says that the view serves requests, so health and load are known.
    """
    request = question.request
    steps = [_asked(question), *host_steps(view.routes, view.model, request)]
    origin = origin_of(question, view.forwarded)
    steps += origin_steps(question, origin)
    question = question._replace(client=origin.peer)
    steps += path_steps(view.routes, request)
    match = view.routes.match(request.host_name, request.path)
    told = _nothing_yet(question, view)
    involved: tuple[Route, ...] = ()
    if match is None:
        told = _failing(told, ErrorKind.NO_ROUTE)
    else:
        route = match.served.route
        admission = gate_steps(match.served, question, match.captures, origin)
        steps += redirect_steps(admission.redirect)
        if question.secure or admission.redirect is not None:
            told = msgspec.structs.replace(told, certificate=_certificate(question, view))
            steps += certificate_steps(told.certificate)
        branching = branching_of(match.served, question, view)
        steps += branching.steps
        served, involved = branching.route, branching.owners
        told = msgspec.structs.replace(
            told,
            ingress=_name(route.owner.name, route),
            service=_name(served.service, served),
            canary=_name(served.owner.name, served) if len(involved) > 1 else None,
        )
        moment = _Moment(question, view, background, now, live)
        told, more = _admitted(told, match.served, admission, moment)
        steps += more
        if told.status is None:
            rewritten = rewritten_target(match, question)
            steps += rewritten.steps
            told = msgspec.structs.replace(told, target=rewritten.target)
            told = _failing(told, rewritten.refused) if rewritten.refused is not None else told
        if told.status is None:
            told, more = _endpoint(told, served, branching.branch, moment)
            steps += [*mirror_steps(route), *more]
        if admission.redirect is not None and not match.served.closed:
            told = _replied(told, admission.redirect)
    steps += background.finding_steps(told.host, involved)
    return msgspec.structs.replace(told, steps=tuple(steps))


def refused(request: RefusedRequest, own: OwnZone) -> Explanation:
    """The explanation of a request that is refused as soon as its head is read, by a replica in `own`."""
    told = _failing(_empty(host=request.host, path=request.path, own=own), request.kind)
    return msgspec.structs.replace(told, steps=(f"{str(request).capitalize()}. The answer is {told.status}.",))


def _failing(told: Explanation, kind: ErrorKind) -> Explanation:
    return msgspec.structs.replace(told, status=ANSWERS[kind].status, error=kind.value)


def _replied(told: Explanation, reply: Reply) -> Explanation:
    location, error = location_of(reply), reply.kind.value if reply.kind is not None else None
    return msgspec.structs.replace(told, status=reply.status, error=error, location=location)


def _certificate(question: Question, view: View) -> CertificateFacts:
    return facts_of(certificate_for(by_server_name(view.model), question.request.host_name.decode()))


class _Moment(NamedTuple):
    """One question with the view and the time for which it is answered."""

    question: Question
    view: View
    background: Background
    now: float
    live: bool


def _admitted(
    told: Explanation, served: Served, admission: Admission, moment: _Moment
) -> tuple[Explanation, list[str]]:
    """Explains what answers before an endpoint is chosen: a closed path, then the gates of the route."""
    if served.closed:
        steps = ["The path is closed on purpose, so the answer is 503. Findings say why."]
        return _failing(told, ErrorKind.PATH_CLOSED), steps
    answer = admission.answer
    if isinstance(answer, Deny):
        told = _failing(told, answer.kind)
    elif answer is not None:
        service = None if location_of(answer) is not None else told.service
        told = msgspec.structs.replace(_replied(told, answer), service=service)
    return told, admission.steps


def _endpoint(told: Explanation, route: Route, branch: Branch | None, moment: _Moment) -> tuple[Explanation, list[str]]:
    """Explains the choice of an endpoint of `route`, which is the route of the branch if there is one."""
    question, view, background, now, live = moment
    runtime = view.backends.get(route.backend) if route.backend is not None else None
    if runtime is None:
        steps = ["The backend of this path cannot be used, so the answer is 503."]
        return _failing(told, ErrorKind.NO_BACKEND), steps
    policy, facts = route.zone_policy or runtime.backend.zone_policy, view.model.zones
    source = background.policy_source(route)
    outcomes = foresee(runtime, route.zone_policy, branch=branch, question=question, now=now)
    limits = limits_of(route.policy, runtime.backend)
    steps = [
        *background.slice_steps(route),
        *endpoint_steps(runtime, facts.drained, now=now, live=live),
        own_zone_step(view.own_zone),
        *policy_steps(policy, source.sentence, facts),
        *(affinity_steps(branch, question, outcomes) if branch is not None else ()),
        *decision_steps(outcomes, runtime, live=live),
        limit_step(limits),
    ]
    told = msgspec.structs.replace(
        told,
        policy=policy_text(policy),
        policy_source=source.source,
        limits=limits,
        endpoints=_endpoints(runtime, background.slice_entries(route), moment),
    )
    return _decided(told, outcomes, runtime, live=live), steps


def _endpoints(runtime: BackendRuntime, entries: Sequence[SliceEntry], moment: _Moment) -> tuple[EndpointFacts, ...]:
    """The endpoints of a backend in its order, then the unused endpoints of the slices."""
    by_address = {entry.address: entry for entry in entries}
    drained, used = moment.view.model.zones.drained, {each.address for each in runtime.backend.endpoints}
    found = []
    for label, member in runtime.members.items():
        endpoint, entry = member.endpoint, by_address.get(member.endpoint.address)
        state = endpoint_state(runtime, member, drained, now=moment.now, live=moment.live)
        found.append(EndpointFacts(label, endpoint.zone, endpoint.node, entry.pod if entry else None, state))
    found += (
        EndpointFacts(entry.address, entry.zone, entry.node, entry.pod, f"{entry.state}, not used")
        for entry in by_address.values()
        if entry.address not in used
    )
    return tuple(found)


def _decided(told: Explanation, outcomes: tuple[Prospect, ...], runtime: BackendRuntime, *, live: bool) -> Explanation:
    shares = _shares(outcomes)
    first = max(shares, key=lambda share: share.probability)
    likeliest = max(
        (each for each in outcomes if (_mode(each), _code(each)) == (first.mode, first.reason)),
        key=lambda each: each.probability,
    )
    pool = _pool(outcomes, runtime)
    zones = {candidate.zone for candidate in pool}
    tried_out = _largest((each.foretold.value, each.probability) for each in outcomes if each.foretold is not None)
    told = msgspec.structs.replace(
        told,
        mode=first.mode,
        reason=first.reason,
        pool=pool,
        endpoint=likeliest.coming.member.label if live and likeliest.coming is not None else None,
        to_zone=zones.pop() if len(zones) == 1 else None,
        shares=shares if len(shares) > 1 else msgspec.UNSET,
        dry_run_reason=tried_out or msgspec.UNSET,
    )
    failure = _failure(likeliest, runtime, live=live)
    return told if failure is None else _failing(told, failure)


def _failure(likeliest: Prospect, runtime: BackendRuntime, *, live: bool) -> ErrorKind | None:
    """Why no endpoint gets the request, or None."""
    if live and runtime.is_full:
        return ErrorKind.OVERLOADED
    if likeliest.coming is not None:
        return None
    is_overload = likeliest.pools.general and likeliest.reason is None
    return ErrorKind.OVERLOADED if is_overload else ErrorKind.NO_ENDPOINT


def _largest(shares: Iterable[tuple[str, float]]) -> str | None:
    """The name with the largest sum of shares, or None if there are none."""
    parts: dict[str, float] = {}
    for name, share in shares:
        parts[name] = parts.get(name, 0.0) + share
    return max(parts, key=lambda name: parts[name], default=None)


def _shares(outcomes: tuple[Prospect, ...]) -> tuple[Share, ...]:
    found: dict[tuple[str, str | None], float] = {}
    for each in outcomes:
        key = _mode(each), _code(each)
        found[key] = found.get(key, 0.0) + each.probability
    return tuple(Share(*key, probability=probability) for key, probability in found.items())


def _pool(outcomes: tuple[Prospect, ...], runtime: BackendRuntime) -> tuple[CandidateEndpoint, ...]:
    """Every endpoint that may be picked, by falling probability, ties in the order of the backend."""
    chances: dict[str, float] = {}
    for each in outcomes:
        for pick in each.picks:
            chances[pick.member.label] = chances.get(pick.member.label, 0.0) + each.probability / len(each.picks)
    candidates = [
        CandidateEndpoint(label, member.endpoint.zone, chances[label])
        for label, member in runtime.members.items()
        if label in chances
    ]
    return tuple(sorted(candidates, key=lambda candidate: -round(candidate.probability, 9)))


def _mode(outcome: Prospect) -> str:
    return "zonal" if outcome.pools.zonal_mode else "general"


def _code(outcome: Prospect) -> str | None:
    return outcome.reason.value if outcome.reason is not None else None


def _asked(question: Question) -> str:
    request = question.request
    path = request.path.decode(errors="backslashreplace")
    asked = request.target.partition(b"?")[0].decode(errors="backslashreplace")
    normalised = f" (normalised from {asked})" if asked != path else ""
    return f"The request is for host {request.host_name.decode()} and path {path}{normalised}."


def _nothing_yet(question: Question, view: View) -> Explanation:
    request = question.request
    path = request.path.decode(errors="backslashreplace")
    return _empty(host=request.host_name.decode(), path=path, own=view.own_zone)


def _empty(*, host: str, path: str, own: OwnZone) -> Explanation:
    return Explanation(
        host=host,
        path=path,
        ingress=None,
        service=None,
        canary=None,
        own_zone=own.zone,
        own_zone_source=own.source,
        policy=None,
        policy_source=None,
        mode=None,
        reason=None,
        pool=(),
        endpoint=None,
        to_zone=None,
        steps=(),
    )


def _name(name: str, route: Route) -> str | None:
    return f"{route.owner.namespace}/{name}" if name else None
