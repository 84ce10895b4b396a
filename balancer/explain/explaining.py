"""Explains where a request goes and why, step by step.

Asks the code that serves requests (routes, junctions, sessions, balancers) for every decision and puts the answers in
order. Does not know Kubernetes: it leaves gaps for what the cluster's objects say. Takes no turn and draws no random
number.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from balancer.errors import ErrorKind, Refusal
from balancer.explain.admitting import Admission, gate_steps, location_of, origin_of, origin_steps, redirect_steps
from balancer.explain.arriving import entry_point_of
from balancer.explain.asking import Question, RefusedRequest
from balancer.explain.branching import branching_of
from balancer.explain.comparing import host_steps, path_steps
from balancer.explain.drafts import Draft, Gap, OpenStep, Step, name_of
from balancer.explain.explanations import EndpointFacts, Explanation, empty, failing
from balancer.explain.foreseeing import foresee
from balancer.explain.limits import limits_of
from balancer.explain.mirroring import mirror_steps
from balancer.explain.rewriting import rewritten_target
from balancer.explain.summing import decided
from balancer.explain.telling import (
    affinity_steps,
    certificate_steps,
    decision_steps,
    endpoint_state,
    endpoint_steps,
    limit_step,
    load_steps,
    own_zone_step,
    policy_text,
    rollout_steps,
    sick_steps,
    traffic_steps,
    zone_steps,
)
from balancer.live import View
from balancer.matching.certificates import CertificateFacts, facts_of
from balancer.matching.destinations import Destination
from balancer.matching.gates.verdicts import Deny, Reply
from balancer.matching.served import Match, Served
from balancer.matching.server_names import ServerNameTable
from balancer.model.routes import SEARCHED_BYTES_WIDE
from balancer.model.zones import OwnZone
from balancer.picking.backend import BackendRuntime
from balancer.zones.verdicts import Surroundings


def explain(question: Question, view: View, *, now: float, live: bool) -> Draft:
    """Where requests like `question` go in `view` at `now`, in seconds of the clock of picks.

    `live` says that the view serves requests, so health and load are known.
    """
    request = question.request
    entry_point = entry_point_of(question, view)
    routes = view.configurations[entry_point.key]
    steps: list[Step] = [_asked(question)]
    if entry_point is not question.entry_point:
        steps.append(f"No Ingress names the host, so the request is one for entry point {entry_point.key}.")
        question = question._replace(entry_point=entry_point)
    steps += host_steps(routes, request)
    origin = origin_of(question, view.forwarded)
    steps += origin_steps(question, origin)
    question = question._replace(client=origin.peer)
    told = _nothing_yet(question, view)
    try:
        steps += path_steps(routes, request)
        match = routes.match(request.host_name, request.path, request.target, request)
    except Refusal as refusal:
        told = failing(told, refusal.kind)
        steps.append(f"{str(refusal).capitalize()}. The answer is {told.status}.")
        return Draft(told, (*steps, OpenStep(Gap.FINDINGS)))
    if match is None:
        return Draft(failing(told, ErrorKind.NO_ROUTE), (*steps, OpenStep(Gap.FINDINGS)))
    admission = gate_steps(match.served, question, match.captures, origin)
    steps += redirect_steps(admission.redirect)
    if question.secure or admission.redirect is not None:
        told = msgspec.structs.replace(told, certificate=_certificate(question, view))
        steps += certificate_steps(told.certificate)
    draft = _matched(told, match, admission, _Moment(question, view, now, live))
    if admission.redirect is not None and not match.served.closed:
        told = _replied(draft.explanation, admission.redirect)
        draft = msgspec.structs.replace(draft, explanation=told)
    return msgspec.structs.replace(draft, steps=(*steps, *draft.steps, OpenStep(Gap.FINDINGS)))


def refused(request: RefusedRequest, own: OwnZone) -> Draft:
    """The explanation of a request that is refused as soon as its head is read, by a replica in `own`."""
    told = failing(empty(host=request.host, path=request.path, own=own), request.kind)
    return Draft(told, (f"{str(request).capitalize()}. The answer is {told.status}.",))


class _Moment(NamedTuple):
    """One question with the view and the time for which it is answered."""

    question: Question
    view: View
    now: float
    live: bool


def _matched(told: Explanation, match: Match, admission: Admission, moment: _Moment) -> Draft:
    """Explains what becomes of a request that has a route, from the choice of its branch on."""
    route = match.served.route
    branching = branching_of(match.served, moment.question, moment.view)
    to, involved = branching.to, branching.owners
    steps: list[Step] = [*branching.steps]
    told = msgspec.structs.replace(
        told,
        ingress=route.owner.full_name if route.owner.name else None,
        service=to.branch.service.full_name if to.branch.service.name else None,
        canary=to.branch.owner.full_name if to.branch.canary is not None else None,
    )
    told, more = _admitted(told, match.served, admission)
    steps += more
    if told.status is None:
        rewritten = rewritten_target(match, moment.question)
        steps += rewritten.steps
        told = msgspec.structs.replace(told, target=rewritten.target)
        told = failing(told, rewritten.refused) if rewritten.refused is not None else told
    draft = Draft(told, ())
    if told.status is None:
        draft = _endpoint(told, to, moment)
        steps += [*mirror_steps(route), *draft.steps]
    return msgspec.structs.replace(draft, steps=tuple(steps), involved=tuple(map(name_of, involved)))


def _replied(told: Explanation, reply: Reply) -> Explanation:
    location, error = location_of(reply), reply.kind.value if reply.kind is not None else None
    return msgspec.structs.replace(told, status=reply.status, error=error, location=location)


def _certificate(question: Question, view: View) -> CertificateFacts:
    names = ServerNameTable(view.model, question.entry_point.configuration)
    return facts_of(names.find(question.request.host_name.decode()).certificate)


def _admitted(told: Explanation, served: Served, admission: Admission) -> tuple[Explanation, list[str]]:
    """Explains what answers before an endpoint is chosen: a closed path, then the gates of the route."""
    if served.closed_as is ErrorKind.TARGET_TOO_LONG:
        steps = [f"The path has more than {SEARCHED_BYTES_WIDE} bytes, so it is not searched for the expression."]
        return failing(told, ErrorKind.TARGET_TOO_LONG), steps
    if served.closed:
        steps = ["The path is closed on purpose, so the answer is 503. Findings say why."]
        return failing(told, ErrorKind.PATH_CLOSED), steps
    answer = admission.answer
    if isinstance(answer, Deny):
        told = failing(told, answer.kind)
    elif answer is not None:
        service = None if location_of(answer) is not None else told.service
        told = msgspec.structs.replace(_replied(told, answer), service=service)
    return told, admission.steps


def _endpoint(told: Explanation, to: Destination, moment: _Moment) -> Draft:
    """Explains the choice of an endpoint."""
    question, view, now, live = moment
    runtime = view.backends.get(to.backend) if to.backend is not None else None
    if runtime is None:
        told = failing(told, to.error)
        return Draft(told, (f"The backend of this path cannot be used, so the answer is {told.status}.",))
    policy, facts = to.zone_policy or runtime.backend.zone_policy, view.model.zones
    outcomes = foresee(runtime, to.zone_policy, to=to, question=question, now=now)
    ready = tuple(endpoint for endpoint in runtime.backend.endpoints if endpoint.ready)
    backend = runtime.backend
    around = Surroundings(view.own_zone, facts).about(backend.namespace, backend.service)
    limits, endpoints = limits_of(to.policy, backend), _endpoints(runtime, moment)
    told = msgspec.structs.replace(told, policy=policy_text(policy, ready), limits=limits, endpoints=endpoints)
    return Draft(
        decided(told, outcomes, runtime, live=live),
        (
            OpenStep(Gap.SLICES),
            *endpoint_steps(runtime, facts.drained, now=now, live=live),
            own_zone_step(view.own_zone),
            OpenStep(Gap.POLICY),
            *rollout_steps(policy, facts),
            *traffic_steps(facts, policy, f"{backend.namespace}/{backend.service}"),
            *sick_steps(facts, policy),
            *load_steps(backend.endpoints, around, policy),
            *(zone_steps(runtime, now) if live else ()),
            *affinity_steps(to, question, outcomes),
            *decision_steps(outcomes, runtime, live=live),
            limit_step(limits),
        ),
        served=name_of(to),
        addresses=tuple(member.endpoint.address for member in runtime.members.values()),
    )


def _endpoints(runtime: BackendRuntime, moment: _Moment) -> tuple[EndpointFacts, ...]:
    """The endpoints of a backend in its order. Slices know their pods."""
    drained = moment.view.model.zones.drained
    return tuple(
        EndpointFacts(
            endpoint=label,
            zone=member.endpoint.zone,
            node=member.endpoint.node,
            pod=None,
            state=endpoint_state(runtime, member, drained, now=moment.now, live=moment.live),
        )
        for label, member in runtime.members.items()
    )


def _asked(question: Question) -> str:
    request = question.request
    path = request.path.decode(errors="backslashreplace")
    asked = request.target.partition(b"?")[0].decode(errors="backslashreplace")
    normalised = f" (normalised from {asked})" if asked != path else ""
    return f"The request is for host {request.host_name.decode()} and path {path}{normalised}."


def _nothing_yet(question: Question, view: View) -> Explanation:
    request = question.request
    path = request.path.decode(errors="backslashreplace")
    return empty(host=request.host_name.decode(), path=path, own=view.own_zone)
