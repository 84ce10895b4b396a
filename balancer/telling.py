"""The sentences of an explanation: what was decided, in words for people.

It must not decide anything: decisions come in.
"""

from __future__ import annotations

from collections.abc import Sequence

from balancer.asking import Question
from balancer.backend import BackendRuntime
from balancer.canary import Branch, Junction
from balancer.foreseeing import Outcome, depends_on_client
from balancer.health import awaits_probe
from balancer.http1.heads import RequestHead
from balancer.live import View
from balancer.members import Member, label_of
from balancer.model import Canary, Endpoint, LoadBalancing, OwnZone, Route, ZoneFacts, ZonePolicy, ZonePolicyName
from balancer.zones.ordered import ZONE

# Of endpoints so many are named; a backend may have thousands.
_NAMED_MOST = 50
_SOURCES = {
    "flag": "given by --zone",
    "node": "from the label of its Node",
    "pod": "from the label of its pod",
}


def branch_steps(junction: Junction, request: RequestHead, view: View, *, chosen: Branch) -> list[str]:
    """How the canaries of a route were asked, and which branch the explanation goes on with."""
    route = junction.main.route
    if not route.canaries:
        return []
    verdicts = junction.verdicts(request)
    steps = [
        f"Canary {canary.namespace}/{canary.ingress} ({_rules(canary)}): {_verdict(verdict)}."
        for canary, verdict in zip(route.canaries, verdicts.by_rule, strict=True)
    ]
    if verdicts.pinned is not None:
        steps.append(f"The affinity cookie holds the client to {_service(verdicts.pinned)}, whatever the rules say.")
    if not view.has_endpoints(route):
        steps.append("The main backend has no endpoints, and then its canaries get nothing either.")
    chances = junction.chances(request, has_endpoints=view.has_endpoints)
    if len(chances) == 1:
        return [*steps, f"Such requests go to {_service(chosen)}."]
    shares = ", ".join(f"{_percent(chance)} to {_service(branch)}" for chance, branch in chances)
    return [*steps, f"By weight go {shares}; what follows is about {_service(chosen)}, the most probable."]


def endpoint_steps(runtime: BackendRuntime, drained: Sequence[str], *, now: float, live: bool) -> list[str]:
    """The conditions of each endpoint, and while serving its health."""
    backend = runtime.backend
    members = list(runtime.members.values())
    ready = sum(member.endpoint.ready for member in members)
    zones = len({member.endpoint.zone for member in members if member.endpoint.ready})
    steps = [f"Backend {backend.key} has no ready endpoint."]
    if ready:
        steps = [f"Backend {backend.key} has {_count(ready, 'ready endpoint')} in {_count(zones, 'zone')}."]
    for member in members[:_NAMED_MOST]:
        health = _health(runtime, member, now) if live else ""
        steps.append(f"Endpoint {member.label}: {_conditions(member.endpoint, drained)}{health}.")
    if len(members) > _NAMED_MOST:
        steps.append(f"{len(members) - _NAMED_MOST} more endpoints are not listed.")
    return steps


def own_zone_step(own: OwnZone) -> str:
    """Where this replica is, and how it knows."""
    if own.zone is None:
        return "This replica does not know its own zone."
    return f"This replica is in {own.zone} ({_SOURCES.get(own.source, own.source)})."


def policy_text(policy: ZonePolicy) -> str:
    """A policy as it is written in settings."""
    if policy.name is ZonePolicyName.ORDERED:
        return f"ordered: {', '.join(policy.keys)}"
    return str(policy.name.value)


def policy_steps(policy: ZonePolicy, origin: str, facts: ZoneFacts) -> list[str]:
    """The policy, where it was set, and what limits it; `origin` is a clause."""
    steps = [f"The zone policy is {policy_text(policy)}: {origin}."]
    if policy.name is not ZonePolicyName.OFF and policy.rollout_percent < 100:
        steps.append(f"Rollout: {policy.rollout_percent} % of the requests get the policy, the others every zone.")
    if policy.dry_run:
        steps.append("Dry run: the policy is only tried out, and requests go as under off.")
    if facts.drained:
        steps.append(f"The operator drains {', '.join(facts.drained)}, over {facts.drain_ramp_seconds:g} s.")
    return steps


def affinity_steps(branch: Branch, question: Question, outcomes: Sequence[Outcome]) -> list[str]:
    """What cookie or hash say."""
    held = next((each.picks[0].member.label for each in outcomes if each.held), None)
    if branch.stickiness is not None:
        name = branch.stickiness.settings.cookie
        if held is not None:
            return [f"Affinity: the cookie {name} holds the client to {held}."]
        if branch.stickiness.key_in(question.request) is None:
            return [f"Affinity: without a cookie {name} of this backend the client is new, and will get one."]
        return [f"Affinity: the endpoint of the cookie {name} is gone or not available; the balancer decides."]
    if branch.hash_text is None:
        return []
    text = f"upstream-hash-by {branch.route.hash_by}"
    if depends_on_client(branch, question):
        return [f"{text} depends on the client's address, which was not given: every endpoint is as likely."]
    return [f"{text} leads to {held}." if held is not None else f"{text} chooses nobody; the balancer decides."]


def decision_steps(outcomes: Sequence[Outcome], runtime: BackendRuntime, *, live: bool) -> list[str]:
    """Mode, reason, pools and pick of each share of the requests."""
    steps: list[str] = []
    if live and runtime.is_full:
        steps.append("The backend has as many requests as it may (max-concurrency): the answer is 503 now.")
    for each in outcomes:
        share = f"{_percent(each.probability)} of the requests: " if len(outcomes) > 1 else ""
        steps += [share + sentence for sentence in _outcome(each, runtime, live=live)]
    return steps


def _outcome(each: Outcome, runtime: BackendRuntime, *, live: bool) -> list[str]:
    pools = each.pools
    mode = "zonal" if pools.zonal_mode else "general"
    reason = each.reason
    steps = [f"Mode {mode}, reason {reason.value}: {reason.explanation}" if reason else f"Mode {mode}."]
    if each.foretold is not None:
        steps.append(f"The policy would have said {each.foretold.value}: {each.foretold.explanation}")
    if pools.zonal:
        steps.append(f"Zonal pool: {_named(pools.zonal)}.")
    steps.append(f"General pool: {_named(pools.general)}.")
    if pools.drained:
        steps.append(f"Used only if nothing else is left, as they are in drained zones: {_named(pools.drained)}.")
    return [*steps, *_pick(each, runtime, live=live)]


def _pick(each: Outcome, runtime: BackendRuntime, *, live: bool) -> list[str]:
    if not each.picks:
        if each.pools.refuses:
            return ["The list is strict, so no endpoint is used: the answer is 503."]
        if each.pools.general:
            return ["Every endpoint has as many requests as it may: the answer is 503."]
        return ["No endpoint can serve: the answer is 503."]
    labels = _named(sorted(pick.endpoint for pick in each.picks))  # turns are in another order on each worker
    share = f"{_percent(1 / len(each.picks))} each" if len(each.picks) > 1 else "every request"
    steps = [f"Endpoints to pick from: {labels}, {share}."]
    balancing = runtime.backend.load_balancing
    if len(each.picks) > 1 and not each.held and balancing is not LoadBalancing.ROUND_ROBIN:
        steps.append(f"Under {balancing.value} the less busy of two is taken, so shares follow the load.")
    if live and each.probe is not None:
        steps.append(f"One request now goes to {each.probe.member.label}, to find out if it is well again.")
    elif live and len(each.picks) > 1 and not each.held:
        steps.append(f"The next one here is {each.picks[0].member.label}.")
    return steps


def _rules(canary: Canary) -> str:
    rules = [f"Service {canary.service}"]
    if canary.header:
        rules.append(f"header {canary.header}")
    if canary.cookie:
        rules.append(f"cookie {canary.cookie}")
    if canary.weight:
        rules.append(f"weight {canary.weight} of {max(canary.weight_total, 100)}")
    return ", ".join(rules)


def _verdict(verdict: bool | None) -> str:
    if verdict is None:
        return "header and cookie say nothing, so its weight counts"
    return "its header or cookie takes the request" if verdict else "its header or cookie refuses the request"


def _service(branch: Branch) -> str:
    route: Route = branch.route
    return f"Service {route.namespace}/{route.service}"


def _conditions(endpoint: Endpoint, drained: Sequence[str]) -> str:
    said = [f"zone {endpoint.zone}" if endpoint.zone else "zone unknown"]
    if endpoint.node:
        said.append(f"node {endpoint.node}")
    said.append("ready" if endpoint.ready else "terminating, still serving")
    if endpoint.hint_zones:
        said.append(f"hinted for {' '.join(endpoint.hint_zones)}")
    if endpoint.hint_nodes:
        said.append(f"hinted for nodes {' '.join(endpoint.hint_nodes)}")
    said += [f"{key}={value}" for key, value in endpoint.labels if key != ZONE]
    if endpoint.zone in drained:
        said.append("draining by the operator")
    return ", ".join(said)


def _health(runtime: BackendRuntime, member: Member, now: float) -> str:
    health, limit = member.health, runtime.backend.max_concurrency_per_endpoint
    said = ""
    if health.fails_checks:
        said = ", fails its health checks"
    elif awaits_probe(health, now):
        said = ", ejected, and the next request tries it"
    elif health.ejected_until is not None:
        said = f", ejected for {max(health.ejected_until - now, 0.0):.1f} s more"
    if 0 < limit <= member.in_flight:
        said += f", full with {_count(member.in_flight, 'request')}"
    return said


def _named(endpoints: Sequence[Endpoint]) -> str:
    if not endpoints:
        return "nobody"
    more = f" and {len(endpoints) - _NAMED_MOST} more" if len(endpoints) > _NAMED_MOST else ""
    return ", ".join(map(label_of, endpoints[:_NAMED_MOST])) + more


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _percent(probability: float) -> str:
    return f"{100 * probability:.4g} %"
