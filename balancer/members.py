"""Endpoints with a life of their own, and the picks of them. It must not know how a pick comes about.

What the I/O side hangs on a member is opaque here.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import msgspec

from balancer.health import EndpointHealth, Outcome
from balancer.loads import Latency
from balancer.model import Endpoint
from balancer.zones.cost import FREE, Tariff
from balancer.zones.locality import Locality
from balancer.zones.reasons import Reason

UNKNOWN_ZONE = "unknown"
"""How an unknown zone is called in metrics and logs."""


class Member:
    """An endpoint with a life: it outlasts changes of its backend for as long as its address and port are in it.

    `label` is `address:port`. `pool` belongs to the I/O side. `in_flight` counts requests on their way; `latency` is
    None before the first answer.
    """

    __slots__ = ("endpoint", "health", "in_flight", "label", "latency", "pool")

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self.label = label_of(endpoint)
        self.pool: object | None = None
        self.in_flight = 0
        self.health = EndpointHealth()
        self.latency: Latency | None = None


class Foretold(NamedTuple):
    """What a policy would have decided that is only tried out, and what bytes would have cost then."""

    reason: Reason
    tariff: Tariff


class Observer(Protocol):
    """Who wants to know how attempts end that a policy has chosen."""

    def ended(self, pick: Pick, outcome: Outcome, *, seconds: float, now: float) -> None:
        """An attempt took `seconds` to its response or failure."""


class Pick(msgspec.Struct, frozen=True, eq=False):
    """One choice, made beforehand: the member, the endpoint it was then, how far it is, and why it is chosen.

    `tariff` prices the bytes. `probe`: this request finds out whether an ejected endpoint is well again, so its report
    decides. `foretold` is set in a dry run. `observer`: of the policy that learns from its requests.
    """

    member: Member
    endpoint: Endpoint
    to_zone: str
    locality: Locality
    reason: Reason
    tariff: Tariff = FREE
    probe: bool = False
    foretold: Foretold | None = None
    observer: Observer | None = None


def label_of(endpoint: Endpoint) -> str:
    """`address:port`, with an IPv6 address in brackets (RFC 3986 3.2.2)."""
    address = f"[{endpoint.address}]" if ":" in endpoint.address else endpoint.address
    return f"{address}:{endpoint.port}"
