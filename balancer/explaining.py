"""Explains where a request goes and why, step by step: what `/debug/explain` and `zonal explain` show.

Every decision is asked of what serves requests (routes, junctions, sessions, balancers); this module puts the answers
in order. It must not know Kubernetes: whoever does tells it by a `Background`. No turn is taken and nothing is drawn.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

import msgspec

from balancer.asking import Question
from balancer.backend import BackendRuntime
from balancer.canary import Branch
from balancer.foreseeing import Outcome, foresee
from balancer.live import View
from balancer.matching import host_steps, path_steps
from balancer.model import Route
from balancer.proxy.answers import https_location
from balancer.telling import (
    affinity_steps,
    branch_steps,
    decision_steps,
    endpoint_steps,
    own_zone_step,
    policy_steps,
    policy_text,
)


class Candidate(msgspec.Struct, frozen=True):
    """An endpoint that the request may reach, as `address:port`; `zone` None is not known."""

    endpoint: str
    zone: str | None
    probability: float


class Share(msgspec.Struct, frozen=True):
    """What a share of the requests gets, where not all get the same."""

    mode: str
    reason: str | None
    probability: float


class Explanation(msgspec.Struct, frozen=True):
    """Where a request goes. References are `namespace/name`; what there is not is None.

    `mode`, `reason` and `endpoint` are of the most probable share; `shares` is there if there are several, and
    `dry_run_reason` in a dry run. `to_zone` is None also if the pool spans zones. `endpoint` is the next one of this
    worker, when it is asked while it serves.
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
    pool: tuple[Candidate, ...]
    endpoint: str | None
    to_zone: str | None
    steps: tuple[str, ...]
    shares: tuple[Share, ...] | msgspec.UnsetType = msgspec.UNSET
    dry_run_reason: str | msgspec.UnsetType = msgspec.UNSET


class PolicySource(NamedTuple):
    """Where the zone policy of a route was set: default, configmap, service, ingress or flag-off; and in words."""

    source: str
    sentence: str


class Background(Protocol):
    """What is known about the objects behind a model."""

    def policy_source(self, route: Route) -> PolicySource:
        """Where the policy that holds for a route was set; for a canary's route, the canary's."""

    def slice_steps(self, route: Route) -> list[str]:
        """What the slices behind a route say, also about endpoints that are not used."""

    def finding_steps(self, host: str, routes: Sequence[Route]) -> list[str]:
        """What is wrong with the objects involved; without routes, with those that name the host."""


def explain(question: Question, view: View, *, background: Background, now: float, live: bool) -> Explanation:
    """Where requests like `question` go in `view` at `now`, in seconds of the clock of picks.

    `live`: the view is serving, so health and load mean something.
    """
    request = question.request
    steps = [_asked(question), *host_steps(view.routes, view.model, request)]
    steps += path_steps(view.routes, view.model, request)
    route = view.routes.match(request.host_name, request.path)
    told = _nothing_yet(question, view)
    involved: tuple[Route, ...] = ()
    if route is not None:
        steps += _redirect_steps(question, route)
        branch, more = _branch(route, question, view)
        steps += more
        served = branch.route if branch is not None else route
        involved = (route,) if served is route else (route, served)
        told = msgspec.structs.replace(
            told,
            ingress=_name(route.ingress, route),
            service=_name(served.service, served),
            canary=_name(served.ingress, served) if len(involved) > 1 else None,
        )
        moment = _Moment(question, view, background, now, live)
        told, more = _endpoint(told, served, branch, moment)
        steps += more
    steps += background.finding_steps(told.host, involved)
    return msgspec.structs.replace(told, steps=tuple(steps))


class _Moment(NamedTuple):
    """What is asked, of whom, and when."""

    question: Question
    view: View
    background: Background
    now: float
    live: bool


def _redirect_steps(question: Question, route: Route) -> list[str]:
    request = question.request
    if not route.policy.redirect_to_https or question.secure or not request.host_name:
        return []
    location = https_location(host_name=request.host_name, target=request.target).decode(errors="backslashreplace")
    return [f"Plain HTTP is answered 308 to {location}; what follows is about that request."]


def _branch(route: Route, question: Question, view: View) -> tuple[Branch | None, list[str]]:
    """The branch that rules choose, or else the one with the largest share of requests, the main one first."""
    junction = view.routes.junctions.get(id(route))
    if junction is None:
        return None, []
    chances = junction.chances(question.request, has_endpoints=view.has_endpoints)
    chosen = max(chances, key=lambda chance: (chance[0], chance[1] is junction.main))[1]
    return chosen, branch_steps(junction, question.request, view, chosen=chosen)


def _endpoint(told: Explanation, route: Route, branch: Branch | None, moment: _Moment) -> tuple[Explanation, list[str]]:
    """The choice of an endpoint of a route, or of a branch in its place."""
    question, view, background, now, live = moment
    runtime = view.backends.get(route.backend) if route.backend is not None else None
    if runtime is None:
        return told, ["The backend of this path cannot be used: the answer is 503."]
    policy, facts = route.zone_policy or runtime.backend.zone_policy, view.model.zones
    source = background.policy_source(route)
    outcomes = foresee(runtime, route.zone_policy, branch=branch, question=question, now=now)
    steps = [
        *background.slice_steps(route),
        *endpoint_steps(runtime, facts.drained, now=now, live=live),
        own_zone_step(view.own_zone),
        *policy_steps(policy, source.sentence, facts),
        *(affinity_steps(branch, question, outcomes) if branch is not None else ()),
        *decision_steps(outcomes, runtime, live=live),
    ]
    told = msgspec.structs.replace(told, policy=policy_text(policy), policy_source=source.source)
    return _decided(told, outcomes, runtime, live=live), steps


def _decided(told: Explanation, outcomes: tuple[Outcome, ...], runtime: BackendRuntime, *, live: bool) -> Explanation:
    shares = _shares(outcomes)
    first = max(shares, key=lambda share: share.probability)
    likeliest = max(
        (each for each in outcomes if (_mode(each), _code(each)) == (first.mode, first.reason)),
        key=lambda each: each.probability,
    )
    pool = _pool(outcomes, runtime)
    zones = {candidate.zone for candidate in pool}
    tried_out = _largest((each.foretold.value, each.probability) for each in outcomes if each.foretold is not None)
    return msgspec.structs.replace(
        told,
        mode=first.mode,
        reason=first.reason,
        pool=pool,
        endpoint=likeliest.coming.member.label if live and likeliest.coming is not None else None,
        to_zone=zones.pop() if len(zones) == 1 else None,
        shares=shares if len(shares) > 1 else msgspec.UNSET,
        dry_run_reason=tried_out or msgspec.UNSET,
    )


def _largest(shares: Iterable[tuple[str, float]]) -> str | None:
    """Which of the names has the largest part, all its shares together."""
    parts: dict[str, float] = {}
    for name, share in shares:
        parts[name] = parts.get(name, 0.0) + share
    return max(parts, key=lambda name: parts[name], default=None)


def _shares(outcomes: tuple[Outcome, ...]) -> tuple[Share, ...]:
    found: dict[tuple[str, str | None], float] = {}
    for each in outcomes:
        key = _mode(each), _code(each)
        found[key] = found.get(key, 0.0) + each.probability
    return tuple(Share(*key, probability=probability) for key, probability in found.items())


def _pool(outcomes: tuple[Outcome, ...], runtime: BackendRuntime) -> tuple[Candidate, ...]:
    """Every endpoint that may be picked, the more probable first, else in the order of the backend."""
    chances: dict[str, float] = {}
    for each in outcomes:
        for pick in each.picks:
            chances[pick.member.label] = chances.get(pick.member.label, 0.0) + each.probability / len(each.picks)
    candidates = [
        Candidate(label, member.endpoint.zone, chances[label])
        for label, member in runtime.members.items()
        if label in chances
    ]
    return tuple(sorted(candidates, key=lambda candidate: -round(candidate.probability, 9)))


def _mode(outcome: Outcome) -> str:
    return "zonal" if outcome.pools.zonal_mode else "general"


def _code(outcome: Outcome) -> str | None:
    return outcome.reason.value if outcome.reason is not None else None


def _asked(question: Question) -> str:
    request = question.request
    path = request.path.decode(errors="backslashreplace")
    asked = request.target.partition(b"?")[0].decode(errors="backslashreplace")
    normalised = f" (normalised from {asked})" if asked != path else ""
    return f"The request is for host {request.host_name.decode()} and path {path}{normalised}."


def _nothing_yet(question: Question, view: View) -> Explanation:
    return Explanation(
        host=question.request.host_name.decode(),
        path=question.request.path.decode(errors="backslashreplace"),
        ingress=None,
        service=None,
        canary=None,
        own_zone=view.own_zone.zone,
        own_zone_source=view.own_zone.source,
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
    return f"{route.namespace}/{name}" if name else None
