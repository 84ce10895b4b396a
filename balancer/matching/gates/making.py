"""Makes the gates of a route from what the model says of them. No I/O."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from balancer.matching.gates.https_redirect import HttpsRedirectGate
from balancer.matching.gates.source_ranges import SourceGate
from balancer.matching.gates.verdicts import Gate
from balancer.model.gates import GateRule, HttpsRedirect, SourceRanges
from balancer.model.routes import Route

GateMaker = Callable[[GateRule], Gate]
"""Makes the gate of a rule at the swap. A gate that needs connections or counters gets them from its maker."""


class Gates(NamedTuple):
    """The gates that plain requests and requests over https pass, in the order in which they are asked."""

    plain: tuple[Gate, ...] = ()
    secure: tuple[Gate, ...] = ()


def make_gate(rule: GateRule) -> Gate:
    """The gate of `rule`. Every kind of rule has one, so no rule of a model is passed over."""
    match rule:
        case HttpsRedirect():
            return HttpsRedirectGate()
        case SourceRanges():
            return SourceGate(rule)


def gates_of(route: Route, make: GateMaker) -> Gates:
    """The gates of a route, in the order of `Route.gates`. Requests over https need not ask for a redirect there."""
    made = [(rule, make(rule)) for rule in route.gates]
    secure = tuple(gate for rule, gate in made if not isinstance(rule, HttpsRedirect))
    return Gates(tuple(gate for _, gate in made), secure)
