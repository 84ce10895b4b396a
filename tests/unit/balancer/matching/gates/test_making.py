"""Gates are made of every rule of a route, in its order."""

from __future__ import annotations

import msgspec

from balancer.errors import ErrorKind
from balancer.http.origin import Origin
from balancer.matching.gates.https_redirect import HttpsRedirectGate
from balancer.matching.gates.making import gates_of, make_gate
from balancer.matching.gates.source_ranges import SourceGate
from balancer.matching.gates.verdicts import Asked, Deny, Gate
from balancer.model.entry_points import HTTP
from balancer.model.gates import AnyOf, BasicAuth, GateRule, SourceRanges
from balancer.model.redirects import HttpsRedirect
from tests import builders
from tests.questions import question_of

FIRST, SECOND = SourceRanges(("10.0.0.0/8",)), SourceRanges(denied=("10.0.0.1/32",))


def test_a_route_without_rules_has_no_gate() -> None:
    assert gates_of(builders.route(), make_gate) == ((), (), None)


def test_each_rule_becomes_a_gate_in_its_order() -> None:
    seen = []

    def make(rule: GateRule) -> Gate:
        seen.append(rule)
        return make_gate(rule)

    route = msgspec.structs.replace(builders.route(), gates=(FIRST, SECOND))
    gates = gates_of(route, make)
    assert len(gates.plain) == 2
    assert gates.plain == gates.secure
    assert seen == [FIRST, SECOND]


def test_only_plain_requests_are_asked_for_a_redirect_to_https() -> None:
    gates = gates_of(msgspec.structs.replace(builders.route(), gates=(HttpsRedirect(), FIRST)), make_gate)
    assert [type(gate) for gate in gates.plain] == [HttpsRedirectGate, SourceGate]
    assert [type(gate) for gate in gates.secure] == [SourceGate]


def test_a_gate_without_what_it_needs_refuses_also_inside_another() -> None:
    users = BasicAuth("shop/pw")
    asked = Asked(question_of("http://shop.test/").request, Origin(peer="192.0.2.1", entry_point=HTTP), secure=False)
    for rule in (users, AnyOf((SourceRanges(("10.0.0.0/8",)), users))):
        assert make_gate(rule).judge(asked, lambda _: None) == Deny(ErrorKind.PATH_CLOSED)
