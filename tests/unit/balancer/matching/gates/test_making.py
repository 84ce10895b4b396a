"""Gates are made of every rule of a route, in its order."""

from __future__ import annotations

import msgspec

from balancer.matching.gates.making import gates_of, make_gate
from balancer.matching.gates.source_ranges import SourceGate
from balancer.model.gates import SourceRanges
from tests import builders

FIRST, SECOND = SourceRanges(("10.0.0.0/8",)), SourceRanges(denied=("10.0.0.1/32",))


def test_a_route_without_rules_has_no_gate() -> None:
    assert gates_of(builders.route(), make_gate) == ()


def test_each_rule_becomes_a_gate_in_its_order() -> None:
    seen = []

    def make(rule: SourceRanges) -> SourceGate:
        seen.append(rule)
        return make_gate(rule)  # type: ignore[return-value]

    route = msgspec.structs.replace(builders.route(), gates=(FIRST, SECOND))
    assert len(gates_of(route, make)) == 2
    assert seen == [FIRST, SECOND]
