"""What one tenant's expressions may cost a search takes nothing from another tenant of the host."""

from __future__ import annotations

import itertools
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from balancer.matching.regexes import INSTRUCTIONS_MAX
from ingress.translation.expression_costs import ExpressionCosts

TEXTS = st.sampled_from(["/", "/a", "/ab", "/abc", "/b", "/a/x"])


def test_a_tenant_alone_has_half_and_its_neighbour_half_of_the_rest() -> None:
    costs = ExpressionCosts()
    assert costs.take_wide("greedy", "/", INSTRUCTIONS_MAX)
    assert not costs.take_wide("greedy", "/", 1)
    assert costs.take_wide("modest", "/", INSTRUCTIONS_MAX // 2)
    assert not costs.take_wide("modest", "/", 1)


def test_expressions_that_do_not_begin_alike_take_nothing_from_each_other() -> None:
    costs = ExpressionCosts()
    assert all(costs.take_wide("shop", f"/{name}", INSTRUCTIONS_MAX) for name in "abcdef")
    assert not costs.take_wide("shop", "/", 1), "each of the others begins like it"
    assert not costs.take_wide("shop", "/abc", 1)


def test_narrow_expressions_have_room_of_their_own() -> None:
    costs = ExpressionCosts()
    assert costs.take_wide("shop", "/", INSTRUCTIONS_MAX)
    taken = [costs.take_narrow("shop", "/", "/(foo|bar)/(.*)") for _ in range(300)]
    assert taken.count(True) == 256
    assert costs.take_narrow("tea", "/", "/(foo|bar)/(.*)")


def test_a_tenant_alone_has_half_of_the_matches_that_are_compared() -> None:
    costs = ExpressionCosts()
    assert [costs.take_compared("greedy", 1) for _ in range(2049)].count(True) == 2048
    assert [costs.take_compared("modest", 4) for _ in range(257)].count(True) == 256


@given(st.lists(st.tuples(st.sampled_from("xyz"), TEXTS, st.integers(1, 200)), max_size=40))
def test_no_path_meets_more_than_the_bound_whatever_the_order(asked: list[tuple[str, str, int]]) -> None:
    costs = ExpressionCosts()
    taken = [each for each in asked if costs.take_wide(*each)]
    for path in ("/", "/ab", "/abc", "/b", "/a/x"):
        met = [(tenant, units) for tenant, text, units in taken if path.startswith(text)]
        assert sum(units for _, units in met) < 2 * INSTRUCTIONS_MAX
        assert all(sum(u for t, u in met if t == name) <= INSTRUCTIONS_MAX for name in "xyz")


def allowed(taken: list[tuple[str, str, int]], tenant: str, text: str, units: int) -> bool:
    """The rule as it is said: on each line of paths through `text`, what the tenant has is at most what is left."""
    for end in {text, *(each for _, each, _ in taken if each.startswith(text))}:
        line = Counter[str]()
        for name, each, held in taken:
            if end.startswith(each):
                line[name] += held
        if line[tenant] + units > 2 * INSTRUCTIONS_MAX - line.total() - units:
            return False
    return True


@given(st.lists(st.tuples(st.sampled_from("xyz"), st.text("ab", max_size=5), st.integers(1, 120)), max_size=40))
def test_every_answer_is_that_of_the_rule(asked: list[tuple[str, str, int]]) -> None:
    costs, taken = ExpressionCosts(), list[tuple[str, str, int]]()
    for tenant, end, units in asked:
        expected = allowed(taken, tenant, "/" + end, units)
        assert costs.take_wide(tenant, "/" + end, units) is expected
        if expected:
            taken.append((tenant, "/" + end, units))


def test_what_is_refused_by_the_bound_of_the_host_is_not_held() -> None:
    costs = ExpressionCosts()
    texts = map("/{}/".format, itertools.count())
    last = next(text for text in texts if not costs.take_wide("greedy", text, INSTRUCTIONS_MAX))
    assert costs.take_wide("modest", last, INSTRUCTIONS_MAX)
