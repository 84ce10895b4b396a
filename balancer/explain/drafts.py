"""Says what a worker answers to a question: an explanation with gaps, which names the routes that fill the gaps.

The control plane fills them with `complete`. Does not know Kubernetes, nor how an endpoint is chosen.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple, Protocol

import msgspec

from balancer.explain.explanations import EndpointFacts, Explanation
from balancer.matching.destinations import Destination
from balancer.model.routes import Owner, ServiceName


class RouteName(msgspec.Struct, frozen=True):
    """The objects behind a destination: its owner, its Service, and the same of the canaries beside it."""

    owner: Owner
    service: ServiceName
    canaries: tuple[RouteName, ...] = ()


class Gap(Enum):
    """A place among the steps for sentences that only the objects of the cluster can say."""

    SLICES = "slices"
    POLICY = "policy"
    FINDINGS = "findings"


class OpenStep(msgspec.Struct, frozen=True):
    """A step that `complete` writes. (A struct of its own, so that a message tells it from a sentence.)"""

    gap: Gap


Step = str | OpenStep
"""A sentence, or a place for sentences."""


class Draft(msgspec.Struct, frozen=True):
    """What a worker knows about a request. `explanation` has neither steps nor the source of its policy.

    `involved` are the routes whose objects decide: that of the request, and that of a canary. `served` is the one whose
    endpoints are explained, None if no endpoint was considered. `addresses` belong to the endpoints of `explanation`,
    in their order.
    """

    explanation: Explanation
    steps: tuple[Step, ...]
    involved: tuple[RouteName, ...] = ()
    served: RouteName | None = None
    addresses: tuple[str, ...] = ()


class SliceEntry(NamedTuple):
    """What a slice says about one endpoint: `address` in canonical form, `state` in words."""

    address: str
    zone: str | None
    node: str | None
    pod: str | None
    state: str


class PolicySource(NamedTuple):
    """Who set the zone policy of a route: default, configmap, service, ingress, zone-policy or flag-off; and
    a sentence."""

    source: str
    sentence: str


class Background(Protocol):
    """What the control plane knows about the objects behind a model."""

    def policy_source(self, route: RouteName) -> PolicySource:
        """Who set the policy of a route; for the route of a canary, who set the canary's policy."""

    def slice_steps(self, route: RouteName) -> list[str]:
        """The slices behind a route, with the number of their endpoints by zone."""

    def slice_entries(self, route: RouteName) -> Sequence[SliceEntry]:
        """Every endpoint of the slices behind a route, also unused endpoints."""

    def finding_steps(self, host: str, routes: Sequence[RouteName]) -> list[str]:
        """Findings about the objects of `routes`; without routes, about the Ingresses that name the host."""


def name_of(to: Destination) -> RouteName:
    """The name by which the control plane finds the objects of a destination. Only the main branch has canaries."""
    branch = to.branch
    canaries = to.route.canaries if branch is to.route.main else ()
    return RouteName(branch.owner, branch.service, tuple(RouteName(each.owner, each.service) for each in canaries))


def complete(draft: Draft, background: Background) -> Explanation:
    """The explanation with what the objects of its routes say."""
    told, served = draft.explanation, draft.served
    said = {Gap.FINDINGS: background.finding_steps(told.host, draft.involved)}
    if served is not None:
        source = background.policy_source(served)
        said[Gap.SLICES] = background.slice_steps(served)
        said[Gap.POLICY] = [f"The zone policy is {told.policy}: {source.sentence}."]
        endpoints = _endpoints(draft, background.slice_entries(served))
        told = msgspec.structs.replace(told, policy_source=source.source, endpoints=endpoints)
    steps = [text for step in draft.steps for text in ([step] if isinstance(step, str) else said[step.gap])]
    return msgspec.structs.replace(told, steps=tuple(steps))


def _endpoints(draft: Draft, entries: Sequence[SliceEntry]) -> tuple[EndpointFacts, ...]:
    """The endpoints of the draft with their pods, then the endpoints of the slices that are not used."""
    by_address = {entry.address: entry for entry in entries}
    found = []
    for facts, address in zip(draft.explanation.endpoints, draft.addresses, strict=True):
        entry = by_address.get(address)
        found.append(msgspec.structs.replace(facts, pod=entry.pod if entry is not None else None))
    used = set(draft.addresses)
    found += (
        EndpointFacts(entry.address, entry.zone, entry.node, entry.pod, f"{entry.state}, not used")
        for entry in by_address.values()
        if entry.address not in used
    )
    return tuple(found)
