"""Explains where a request goes and why, step by step.

Asks the code that serves requests (routes, junctions, sessions, balancers) for every decision and puts the answers in
order. Does not know Kubernetes: it leaves gaps for what the cluster's objects say. Takes no turn and draws no random
number.
"""

from __future__ import annotations

import msgspec

from balancer.errors import ErrorKind, Refusal
from balancer.explain.admitting import Admission, gate_steps, location_of, origin_of, origin_steps, redirect_steps
from balancer.explain.arriving import entry_point_of
from balancer.explain.asking import Question, RefusedRequest, UrlScheme
from balancer.explain.branching import branching_of, narrowed_match
from balancer.explain.comparing import host_steps, path_steps
from balancer.explain.drafts import Draft, Gap, OpenStep, Step, name_of
from balancer.explain.explanations import Explanation, empty, failing
from balancer.explain.mirroring import mirror_steps
from balancer.explain.reaching import Moment, endpoint_draft
from balancer.explain.rewriting import rewritten_target
from balancer.explain.streaming import Stream, destination_of, stream_of, stream_steps
from balancer.explain.telling import (
    certificate_steps,
    handshake_steps,
)
from balancer.live import View
from balancer.matching.certificates import CertificateFacts, facts_of
from balancer.matching.gates.hooks import steered_by
from balancer.matching.gates.leading import led_to, onward_target
from balancer.matching.gates.verdicts import PASSED, Deny, NewPath, Reply
from balancer.matching.served import Match, Served
from balancer.matching.server_names import ServerNameTable
from balancer.model.routes import SEARCHED_BYTES_WIDE
from balancer.model.zones import OwnZone


def explain(question: Question, view: View, *, now: float, live: bool) -> Draft:
    """Where requests like `question` go in `view` at `now`, in seconds of the clock of picks.

    `live` says that the view serves requests, so health and load are known.
    """
    request = question.request
    stream = stream_of(question, view)
    if stream is not None:
        return _carried(stream, Moment(question, view, now, live))
    if question.scheme is UrlScheme.TCP:
        told = failing(_nothing_yet(question, view), ErrorKind.NO_ROUTE)
        return Draft(told, (f"No entry point carries TCP at port {question.port}.", OpenStep(Gap.FINDINGS)))
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
        match = routes.match(request.host_name, request.path, onward_target(request), request)
    except Refusal as refusal:
        told = failing(told, refusal.kind)
        steps.append(f"{str(refusal).capitalize()}. The answer is {told.status}.")
        return Draft(told, (*steps, OpenStep(Gap.FINDINGS)))
    if match is None:
        steps += handshake_steps(is_refused=question.secure and _refuses(question, view))
        return Draft(failing(told, ErrorKind.NO_ROUTE), (*steps, OpenStep(Gap.FINDINGS)))
    match, chosen = narrowed_match(match, question, view)
    steps += chosen
    admission = gate_steps(match.served, question, match.captures, origin)
    steps += redirect_steps(admission.redirect)
    if isinstance(admission.answer, NewPath) and not match.served.closed:
        return _led(told, question, admission, steps, Moment(question, view, now, live))
    if question.secure or admission.redirect is not None:
        told = msgspec.structs.replace(told, certificate=_certificate(question, view))
        steps += certificate_steps(told.certificate)
    draft = _matched(told, match, admission, Moment(question, view, now, live))
    if admission.redirect is not None and not match.served.closed:
        told = _replied(draft.explanation, admission.redirect)
        draft = msgspec.structs.replace(draft, explanation=told)
    return msgspec.structs.replace(draft, steps=(*steps, *draft.steps, OpenStep(Gap.FINDINGS)))


def _led(told: Explanation, question: Question, admission: Admission, steps: list[Step], moment: Moment) -> Draft:
    """Explains a request whose path a snippet changes: what it is then, from its host on."""
    assert isinstance(admission.answer, NewPath)
    steps = [*steps, *admission.steps]
    try:
        led = led_to(question.request, admission.answer, PASSED)
    except Refusal as refusal:
        told = failing(told, refusal.kind)
        return Draft(
            told, (*steps, f"{str(refusal).capitalize()}. The answer is {told.status}.", OpenStep(Gap.FINDINGS))
        )
    draft = explain(question._replace(request=led), moment.view, now=moment.now, live=moment.live)
    explanation = msgspec.structs.replace(draft.explanation, path=told.path)
    return msgspec.structs.replace(draft, explanation=explanation, steps=(*steps, *draft.steps))


def refused(request: RefusedRequest, own: OwnZone) -> Draft:
    """The explanation of a request that is refused as soon as its head is read, by a replica in `own`."""
    told = failing(empty(host=request.host, path=request.path, own=own), request.kind)
    return Draft(told, (f"{str(request).capitalize()}. The answer is {told.status}.",))


def _carried(stream: Stream, moment: Moment) -> Draft:
    """Explains a connection that is carried as bytes."""
    steps, told = stream_steps(stream, moment.question), _nothing_yet(moment.question, moment.view)
    if stream.taken is None:
        return Draft(failing(told, ErrorKind.NO_ROUTE), (*steps, OpenStep(Gap.FINDINGS)))
    to = destination_of(stream.taken)
    told = msgspec.structs.replace(told, ingress=to.branch.owner.full_name, service=to.branch.service.full_name)
    draft = endpoint_draft(told, to, moment, of_stream=True)
    said = (*steps, *draft.steps, OpenStep(Gap.FINDINGS))
    return msgspec.structs.replace(draft, steps=said, involved=(name_of(to),))


def _matched(told: Explanation, match: Match, admission: Admission, moment: Moment) -> Draft:
    """Explains what becomes of a request that has a route, from the choice of its branch on."""
    route = match.served.route
    branching = branching_of(_chosen(match.served, admission, moment.view), moment.question, moment.view)
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
        draft = endpoint_draft(told, steered_by(to, admission.choice), moment)
        steps += [*mirror_steps(route), *draft.steps]
    return msgspec.structs.replace(draft, steps=tuple(steps), involved=tuple(map(name_of, involved)))


def _chosen(served: Served, admission: Admission, view: View) -> Served:
    """The route as hooks leave it that were run: with the branch that they chose, if that has endpoints."""
    canary, junction = admission.choice.canary, served.junction
    to = None if canary is None or junction is None else junction.named(canary)
    return served if to is None or not view.has_endpoints(to.backend) else served.leading_to(to)


def _replied(told: Explanation, reply: Reply) -> Explanation:
    location, error = location_of(reply), reply.kind.value if reply.kind is not None else None
    return msgspec.structs.replace(told, status=reply.status, error=error, location=location)


def _certificate(question: Question, view: View) -> CertificateFacts:
    names = ServerNameTable(view.model, question.entry_point.configuration)
    return facts_of(names.find(question.request.host_name.decode()).certificate)


def _refuses(question: Question, view: View) -> bool:
    """Whether no certificate is shown to a client that names the host."""
    names = ServerNameTable(view.model, question.entry_point.configuration)
    return not names.has_fallback and names.find(question.request.host_name.decode()).certificate is None


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
    elif isinstance(answer, Reply):
        service = None if location_of(answer) is not None else told.service
        told = msgspec.structs.replace(_replied(told, answer), service=service)
    return told, admission.steps


def _asked(question: Question) -> str:
    request = question.request
    path = request.path.decode(errors="backslashreplace")
    asked = onward_target(request).partition(b"?")[0].decode(errors="backslashreplace")
    normalised = f" (normalised from {asked})" if asked != path else ""
    return f"The request is for host {request.host_name.decode()} and path {path}{normalised}."


def _nothing_yet(question: Question, view: View) -> Explanation:
    request = question.request
    path = request.path.decode(errors="backslashreplace")
    return empty(host=request.host_name.decode(), path=path, own=view.own_zone)
