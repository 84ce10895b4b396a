"""Writes the sentences of an explanation: decisions in words for people.

Takes decisions and makes none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from balancer.explain.asking import Question
from balancer.explain.foreseeing import Prospect, depends_on_client
from balancer.explain.limits import Limits
from balancer.http.messages import RequestHead
from balancer.live import View
from balancer.matching.branches import Junction
from balancer.matching.certificates import CertificateFacts
from balancer.matching.destinations import Destination
from balancer.model.endpoints import Endpoint, LoadBalancing, place_of
from balancer.model.routes import Branch
from balancer.model.zones import FleetUse, OwnZone, ZoneEvacuation, ZoneFacts, ZonePolicy, ZonePolicyName
from balancer.picking.backend import BackendRuntime
from balancer.picking.ejections import State, cause_of
from balancer.picking.endpoint_health import awaits_probe
from balancer.picking.members import Member, label_of
from balancer.zones.departure import DepartureStep
from balancer.zones.evacuation import ZoneState
from balancer.zones.ordered import ZONE
from balancer.zones.skew import EVEN, expected_load
from balancer.zones.split import evacuation_in_force, in_force
from balancer.zones.verdicts import Surroundings

# The most endpoints that one sentence names, because a backend may have thousands.
_NAMED_MOST = 50
# A difference of load that a sentence mentions.
_NOTABLE = 0.05
_SOURCES = {
    "flag": "given by --zone",
    "node": "from the label of its Node",
    "pod": "from the label of its pod",
}


def branch_steps(junction: Junction, request: RequestHead, view: View, *, chosen: Destination) -> list[str]:
    """What the rules of each canary decided, and which branch the rest of the explanation describes."""
    canaries = junction.main.route.canaries
    verdicts = junction.verdicts(request)
    steps = [
        f"Canary {canary.owner.full_name} ({_rules(canary)}): {_verdict(verdict)}."
        for canary, verdict in zip(canaries, verdicts.by_rule, strict=True)
    ]
    if verdicts.pinned is not None:
        steps.append(f"The affinity cookie holds the client to {_service(verdicts.pinned)}, whatever the rules say.")
    if canaries and not view.has_endpoints(junction.main.backend):
        steps.append("The main backend has no endpoints, so its canaries get no requests either.")
    chances = junction.chances(request, has_endpoints=view.has_endpoints)
    if len(chances) == 1:
        return [*steps, f"Such requests go to {_service(chosen)}."]
    shares = ", ".join(f"{_percent(chance)} to {_service(to)}" for chance, to in chances)
    return [*steps, f"The weights send {shares}. The next steps describe {_service(chosen)}, the most probable."]


def certificate_steps(certificate: CertificateFacts | None) -> list[str]:
    """Which certificate a handshake for the host gets."""
    if certificate is None:
        return []
    if certificate.secret is None:
        return ["TLS: no Secret fits the host, so clients get the self-signed certificate, which they do not trust."]
    names = ", ".join(certificate.names[:_NAMED_MOST]) or "no DNS name"
    return [f"TLS: the certificate of Secret {certificate.secret} ({names}) is valid until {certificate.expires}."]


def handshake_steps(*, is_refused: bool) -> list[str]:
    """Whether a client that names the host gets no connection."""
    return ["TLS: no listener has a certificate for the name, so the handshake is refused."] if is_refused else []


def endpoint_steps(runtime: BackendRuntime, drained: Sequence[str], *, now: float, live: bool) -> list[str]:
    """The number of endpoints by zone, and if `live` each endpoint that is unhealthy or full."""
    place = place_of(runtime.backend.key)
    members = list(runtime.members.values())
    ready = [member.endpoint for member in members if member.endpoint.ready]
    steps = [f"Backend {place} has no ready endpoint."]
    if ready:
        steps = [f"Backend {place} has {_count(len(ready), 'ready endpoint')}: {_by_zone(ready, drained)}."]
    if leaving := [member.endpoint for member in members if not member.endpoint.ready]:
        steps.append(f"Terminating but still serving: {_by_zone(leaving, drained)}.")
    states = [(member.label, _health(runtime, member, now)) for member in members] if live else []
    unwell = [f"Endpoint {label}: {state}." for label, state in states if state]
    steps += unwell[:_NAMED_MOST]
    if len(unwell) > _NAMED_MOST:
        steps.append(f"{len(unwell) - _NAMED_MOST} more endpoints are unhealthy or full.")
    if runtime.backend.http2:
        steps.append("Its endpoints are spoken to in HTTP/2.")
    return steps


def endpoint_state(runtime: BackendRuntime, member: Member, drained: Sequence[str], *, now: float, live: bool) -> str:
    """The conditions of an endpoint, and if `live` its health; without its zone and node."""
    health = _health(runtime, member, now) if live else ""
    return ", ".join(filter(None, (_conditions(member.endpoint, drained), health)))


def zone_steps(runtime: BackendRuntime, policy: ZonePolicy, now: float) -> list[str]:
    """Which zones of the backend are left because their answers fail, and by which figures; nothing while none is.

    `policy` says whether the request may leave them, too.
    """
    if not runtime.backend.endpoints or not runtime.evacuation.is_awake:
        return []
    asked = evacuation_in_force(policy, runtime.backend.endpoints)
    dry_run = asked is ZoneEvacuation.DRY_RUN or not runtime.plans.leaves_zones
    stays = " This request stays: its zone policy leaves no zone." if asked is ZoneEvacuation.OFF else ""
    return [f"{_left(state, dry_run=dry_run)}{stays}" for state in runtime.evacuation.states(now) if state.share]


def _left(state: ZoneState, *, dry_run: bool) -> str:
    figures = f"lately {state.own.words} of its answers failed, of other zones {state.others.words}"
    avoids = f"{_percent(state.share)} of the requests {'would avoid' if dry_run else 'avoid'} it"
    if state.step is DepartureStep.PROBING:
        avoids += " to compare"
    since = f"{state.step.value} for {state.seconds:.0f} s"
    return f"Zone {state.zone} fails: {avoids} ({since}); {figures}{'. Dry run: none does' if dry_run else ''}."


def limit_step(limits: Limits) -> str:
    """The limits of a request: body size, timeouts and attempts."""
    body = f"{limits.max_body_bytes} bytes" if limits.max_body_bytes else "any size"
    tries = _count(limits.tries, "attempt") if limits.tries else "any number of attempts"
    return (
        f"Limits: request bodies of {body}; {limits.connect_timeout_seconds:g} s to connect, "
        f"{limits.send_timeout_seconds:g} s between writes, {limits.read_timeout_seconds:g} s between reads; {tries}."
    )


def own_zone_step(own: OwnZone) -> str:
    """The zone of this replica, and where the zone comes from."""
    if own.zone is None:
        return "This replica does not know its own zone."
    return f"This replica is in {own.zone} ({_SOURCES.get(own.source, own.source)})."


def policy_text(policy: ZonePolicy, ready: tuple[Endpoint, ...]) -> str:
    """The policy that judges these ready endpoints, as a user writes it in settings."""
    if policy.name is ZonePolicyName.ORDERED:
        return f"ordered: {', '.join(policy.keys)}"
    return str(in_force(policy, ready).value)


def rollout_steps(policy: ZonePolicy, facts: ZoneFacts) -> list[str]:
    """To what the policy does not apply: its rollout, its dry run, and drains."""
    steps = []
    if policy.name is not ZonePolicyName.OFF and policy.rollout_percent < 100:
        steps.append(
            f"Rollout: {policy.rollout_percent} % of the requests get the policy, the others go to every zone."
        )
    if policy.dry_run:
        steps.append("Dry run: the policy is only computed and counted, and requests go as under off.")
    if facts.drained:
        seconds = facts.drain_ramp_seconds
        pace = f"over {seconds:g} s" if seconds else "at once"
        steps.append(f"The operator drains {', '.join(facts.drained)}, {pace}.")
    return steps


def traffic_steps(facts: ZoneFacts, policy: ZonePolicy, service: str) -> list[str]:
    """Where the requests of a Service (`namespace/name`) come in, as all replicas tell, if its policy asks that."""
    shares = dict(facts.traffic).get(service) if policy.name is ZonePolicyName.PROPORTIONAL else None
    if shares is None:
        return []
    zones = ", ".join(f"{share / 100:.0f} % at {zone}" for zone, share in shares)
    use = "" if facts.fleet is FleetUse.ON else ' The key fleet is "dry-run", so this decides nothing.'
    return [f"Replicas tell each other where requests come in: {zones}.{use}"]


def sick_steps(facts: ZoneFacts, policy: ZonePolicy) -> list[str]:
    """Which zones are sick for the fleet, if requests of this policy may leave them."""
    if not facts.sick or policy.evacuation is ZoneEvacuation.OFF:
        return []
    return [f"Replicas agree that {', '.join(facts.sick)} is sick, so less evidence is enough to leave it."]


def load_steps(endpoints: tuple[Endpoint, ...], around: Surroundings, policy: ZonePolicy) -> list[str]:
    """How much more or less than the average an endpoint of the own zone is expected to get, if that differs."""
    load = expected_load(endpoints, around, policy)
    if load is None or abs(load - EVEN) < _NOTABLE:
        return []
    return [
        f"Expected load: an endpoint in {around.own.zone} gets {load:.1f} times the average, if every replica of zonal "
        "gets as many requests."
    ]


def affinity_steps(to: Destination, question: Question, outcomes: Sequence[Prospect]) -> list[str]:
    """What the affinity cookie or the hash decided."""
    held = next((each.picks[0].member.label for each in outcomes if each.held), None)
    if to.stickiness is not None:
        settings = to.stickiness.settings
        name = f"{'field' if settings.in_header else 'cookie'} {settings.cookie}"
        if held is not None:
            return [f"Affinity: the {name} holds the client to {held}."]
        if to.stickiness.key_in(question.request) is None:
            return [f"Affinity: the request has no {name} of this backend, so the client is new and will get one."]
        return [f"Affinity: the endpoint of the {name} is gone or unavailable, so the balancer decides."]
    if to.hash_text is None:
        return []
    text = f"upstream-hash-by {to.branch.hash_by}"
    if depends_on_client(to, question):
        return [f"{text} depends on the client's address, which is unknown here, so every endpoint is equally likely."]
    return [f"{text} {_where(outcomes)}"]


def _where(outcomes: Sequence[Prospect]) -> str:
    """Where a hash leads, as the end of a sentence."""
    labels = list(dict.fromkeys(pick.member.label for each in outcomes if each.held for pick in each.picks))
    if not labels:
        return "leads to no endpoint, so the balancer decides."
    return f"leads to {labels[0]}." if len(labels) == 1 else f"leads to any of {', '.join(labels)}."


def decision_steps(outcomes: Sequence[Prospect], runtime: BackendRuntime, *, live: bool) -> list[str]:
    """Mode, reason, pools and pick for each share of the requests."""
    steps: list[str] = []
    if live and runtime.is_full:
        steps.append("The backend has reached max-concurrency, so the answer is 503 now.")
    for each in outcomes:
        share = f"{_percent(each.probability)} of the requests: " if len(outcomes) > 1 else ""
        steps += [share + sentence for sentence in _outcome(each, runtime, live=live)]
    return steps


def _outcome(each: Prospect, runtime: BackendRuntime, *, live: bool) -> list[str]:
    pools = each.pools
    mode = "zonal" if pools.zonal_mode else "general"
    reason = each.reason
    steps = [f"Mode {mode}, reason {reason.value}: {reason.explanation}" if reason else f"Mode {mode}."]
    if each.foretold is not None:
        steps.append(f"Without the dry run the reason would be {each.foretold.value}: {each.foretold.explanation}")
    if pools.zonal:
        steps.append(f"Zonal pool: {_named(pools.zonal)}.")
    steps.append(f"General pool: {_named(pools.general)}.")
    if pools.drained:
        steps.append(f"In drained zones, so used only if nothing else is left: {_named(pools.drained)}.")
    return [*steps, *_pick(each, runtime, live=live)]


def _pick(each: Prospect, runtime: BackendRuntime, *, live: bool) -> list[str]:
    if not each.picks:
        if each.pools.refuses:
            return ["The ordered list is strict and no endpoint matches, so the answer is 503."]
        if each.pools.general:
            return ["Every endpoint has reached max-concurrency-per-endpoint, so the answer is 503."]
        return ["No endpoint can serve, so the answer is 503."]
    labels = _named(sorted(pick.endpoint for pick in each.picks))  # each worker has its own order of turns
    share = f"{_percent(1 / len(each.picks))} each" if len(each.picks) > 1 else "every request"
    steps = [f"Endpoints to pick from: {labels}, {share}."]
    balancing = runtime.backend.load_balancing
    if len(each.picks) > 1 and not each.held and balancing is not LoadBalancing.ROUND_ROBIN:
        steps.append(
            f"Under {balancing.value} the less busy of two endpoints gets the request, so shares follow the load."
        )
    if live and each.probe is not None:
        steps.append(f"The next request goes to {each.probe.member.label}, to probe whether it is healthy again.")
    elif live and len(each.picks) > 1 and not each.held:
        steps.append(f"The next endpoint in turn is {each.picks[0].member.label}.")
    return steps


def _rules(branch: Branch) -> str:
    rules, canary = [f"Service {branch.service.name}"], branch.canary
    assert canary is not None
    if canary.header:
        rules.append(f"header {canary.header}")
    if canary.cookie:
        rules.append(f"cookie {canary.cookie}")
    if canary.weight:
        rules.append(f"weight {canary.weight} of {max(canary.weight_total, 100)}")
    return ", ".join(rules)


def _verdict(verdict: bool | None) -> str:
    if verdict is None:
        return "neither header nor cookie decides, so its weight counts"
    return "its header or cookie takes the request" if verdict else "its header or cookie refuses the request"


def _service(to: Destination) -> str:
    return f"Service {to.branch.service.full_name}"


def _conditions(endpoint: Endpoint, drained: Sequence[str]) -> str:
    said = ["ready" if endpoint.ready else "terminating, still serving"]
    if endpoint.hint_zones:
        said.append(f"hinted for {' '.join(endpoint.hint_zones)}")
    if endpoint.hint_nodes:
        said.append(f"hinted for nodes {' '.join(endpoint.hint_nodes)}")
    said += [f"{key}={value}" for key, value in endpoint.labels if key != ZONE]
    if endpoint.zone in drained:
        said.append("in a drained zone")
    if endpoint.leaving:
        said.append("on a node that is said to go away")
    return ", ".join(said)


def _health(runtime: BackendRuntime, member: Member, now: float) -> str:
    health, limit = member.health, runtime.backend.max_concurrency_per_endpoint
    said = []
    if health.state is State.FAILS_CHECKS:
        said.append("fails its health checks")
    elif awaits_probe(health, now):
        said.append(f"ejected because it {cause_of(health.why)}; the next request tries it")
    elif health.ejected_until is not None:
        left = max(health.ejected_until - now, 0.0)
        said.append(f"ejected for {left:.1f} s more because it {cause_of(health.why)}")
    elif health.is_suspected(now):
        said.append("suspected, because other replicas saw it fail lately")
    if 0 < limit <= member.in_flight:
        said.append(f"full with {_count(member.in_flight, 'request')}")
    return ", ".join(said)


def _by_zone(endpoints: Sequence[Endpoint], drained: Sequence[str]) -> str:
    counts = Counter(endpoint.zone or "" for endpoint in endpoints)
    return ", ".join(
        f"{count} in {zone or 'an unknown zone'}" + (" (drained)" if zone in drained else "")
        for zone, count in sorted(counts.items())
    )


def _named(endpoints: Sequence[Endpoint]) -> str:
    if not endpoints:
        return "none"
    more = f" and {len(endpoints) - _NAMED_MOST} more" if len(endpoints) > _NAMED_MOST else ""
    return ", ".join(map(label_of, endpoints[:_NAMED_MOST])) + more


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _percent(probability: float) -> str:
    return f"{100 * probability:.4g} %"
