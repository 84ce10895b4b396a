"""Makes the gates of a route from what the model says of them. No I/O."""

from __future__ import annotations

from collections.abc import Callable

from balancer.matching.gates.source_ranges import SourceGate
from balancer.matching.gates.verdicts import Gate
from balancer.model.gates import GateRule
from balancer.model.routes import Route

GateMaker = Callable[[GateRule], Gate]
"""Makes the gate of a rule at the swap. A gate that needs connections or counters gets them from its maker."""


def make_gate(rule: GateRule) -> Gate:
    """The gate of `rule`. Every kind of rule has one, so no rule of a model is passed over."""
    return SourceGate(rule)


def gates_of(route: Route, make: GateMaker) -> tuple[Gate, ...]:
    """The gates of a route in the order in which they are asked: that of `Route.gates`."""
    return tuple(make(rule) for rule in route.gates)
