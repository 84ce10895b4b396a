"""Explains which endpoint a share of requests or connections reaches, and why: pools, policy, health and load.

Asks the code that picks endpoints, and takes no turn.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from balancer.explain.asking import Question
from balancer.explain.drafts import Draft, Gap, OpenStep, name_of
from balancer.explain.explanations import EndpointFacts, Explanation, failing
from balancer.explain.foreseeing import foresee
from balancer.explain.limits import limits_of
from balancer.explain.summing import decided
from balancer.explain.telling import (
    affinity_steps,
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
from balancer.matching.destinations import Destination
from balancer.picking.backend import BackendRuntime
from balancer.zones.verdicts import Surroundings


class Moment(NamedTuple):
    """One question with the view and the time for which it is answered."""

    question: Question
    view: View
    now: float
    live: bool


def endpoint_draft(told: Explanation, to: Destination, moment: Moment, *, of_stream: bool = False) -> Draft:
    """Explains the choice of an endpoint. `of_stream`: for a connection that is carried as bytes, to which no limit of
    requests applies.
    """
    question, view, now, live = moment
    runtime = view.backends.get(to.backend) if to.backend is not None else None
    if runtime is None:
        told = failing(told, to.branch.error)
        what = "connection is reset" if of_stream else f"answer is {told.status}"
        return Draft(told, (f"The backend of this {'stream' if of_stream else 'path'} cannot be used, so the {what}.",))
    policy, facts = to.zone_policy or runtime.backend.zone_policy, view.model.zones
    outcomes = foresee(runtime, to.zone_policy, to=to, question=question, now=now)
    ready = tuple(endpoint for endpoint in runtime.backend.endpoints if endpoint.ready)
    backend = runtime.backend
    around = Surroundings(view.own_zone, facts).about(backend.namespace, backend.service)
    limits, endpoints = None if of_stream else limits_of(to.policy, backend), _endpoints(runtime, moment)
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
            *(zone_steps(runtime, policy, now) if live else ()),
            *affinity_steps(to, question, outcomes),
            *decision_steps(outcomes, runtime, live=live),
            *((limit_step(limits),) if limits is not None else ()),
        ),
        served=name_of(to),
        addresses=tuple(member.endpoint.address for member in runtime.members.values()),
    )


def _endpoints(runtime: BackendRuntime, moment: Moment) -> tuple[EndpointFacts, ...]:
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
