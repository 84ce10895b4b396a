"""Which branch a request takes: pins, headers, cookies and weights, each exactly as documented."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.matching.affinity import mark_of
from balancer.matching.branches import Junction, junction_of
from balancer.model.endpoints import BackendKey
from balancer.model.policies import Affinity, RoutePolicy
from balancer.model.routes import Branch, Canary, Route
from tests import builders as build
from tests.properties import examples
from tests.unit.balancer.matching.test_variables import request

NEXT = BackendKey("shop/next:80")
LATER = BackendKey("shop/later:80")


def canary(
    to: BackendKey = NEXT,
    *,
    header: str = "",
    value: str = "",
    pattern: str = "",
    cookie: str = "",
    weight: int = 0,
    total: int = 100,
    follows_affinity: bool = True,
    affinity: Affinity | None = None,
) -> Branch:
    rules = Canary(
        header=header,
        header_value=value,
        header_pattern=pattern,
        cookie=cookie,
        weight=weight,
        weight_total=total,
        follows_affinity=follows_affinity,
    )
    return build.canary(to, rules=rules, affinity=affinity)


def route(*canaries: Branch, affinity: Affinity | None = None) -> Route:
    return build.route(policy=RoutePolicy(tries=7), affinity=affinity, canaries=canaries)


def service_of(backend: BackendKey | None) -> str:
    return (backend or "").partition("/")[2].partition(":")[0]


def taken(
    *fields: str,
    by: Junction,
    lot: int | None = None,
    empty: tuple[str, ...] = (),
) -> str:
    """The Service that serves a request with these fields; `lot` is what chance says, and without it none is asked."""

    def random_below(limit: int) -> int:
        assert lot is not None, "no rule was left, but chance was asked"
        return lot * limit // 100

    to = by.choose(
        request(*fields), has_endpoints=lambda backend: service_of(backend) not in empty, random_below=random_below
    )
    return service_of(to.backend)


def test_a_canary_is_served_and_counted_under_its_own_names_and_the_main_policy() -> None:
    junction = Junction(route(canary(header="x-try")))
    served = junction.choose(request("X-Try: always"), has_endpoints=lambda _: True, random_below=lambda _: 0)
    assert (served.backend, served.branch.owner) == (NEXT, build.owner("trial"))
    assert served.names == ("shop", "trial", "next", "80")
    assert served.policy == RoutePolicy(tries=7)
    assert served.route.path == "/"


@pytest.mark.parametrize(
    ("fields", "service"),
    [
        (["X-Try: always"], "next"),
        (["x_try: always"], "next"),
        (["X-Try: never"], "cart"),
        (["X-Try: Always"], "cart"),
        (["X-Try: other", "Cookie: try=always"], "next"),
        (["X-Try: never", "Cookie: try=always"], "cart"),
        (["Cookie: try=never"], "cart"),
        (["Cookie: try=maybe; try=always"], "next"),
        ([], "cart"),
    ],
)
def test_a_header_decides_before_a_cookie(fields: list[str], service: str) -> None:
    assert taken(*fields, by=Junction(route(canary(header="X-Try", cookie="try")))) == service


@pytest.mark.parametrize(
    ("sent", "service"), [("yes", "next"), ("yes ", "next"), ("YES", "cart"), ("always", "cart"), ("never", "cart")]
)
def test_with_a_value_only_that_value_counts(sent: str, service: str) -> None:
    junction = Junction(route(canary(header="x-try", value="yes", pattern=".*", weight=50)))
    assert taken(f"X-Try: {sent}", by=junction, lot=99) == service
    assert taken(f"X-Try: {sent}", by=junction, lot=0) == "next"


def test_a_pattern_is_found_anywhere_and_otherwise_the_next_rule_decides() -> None:
    junction = Junction(route(canary(header="user-agent", pattern="Firefox|^curl/[0-9.]+$", cookie="try")))
    assert taken("User-Agent: Mozilla Firefox", by=junction) == "next"
    assert taken("User-Agent: curl/8.1", by=junction) == "next"
    assert taken("User-Agent: curl/8.1 x", by=junction) == "cart"
    assert taken("User-Agent: always", by=junction) == "cart"
    assert taken("User-Agent: x", "Cookie: try=always", by=junction) == "next"
    assert taken("User-Agent: Firefox" + "x" * 1024, by=junction) == "cart"
    costly = Junction(route(canary(header="user-agent", pattern="a{200}|x")))
    assert [taken("User-Agent: " + "x" * size, by=costly) for size in (500, 1000)] == ["next", "cart"]


def test_searches_for_all_canaries_of_a_path_are_counted_together() -> None:
    """A tenant may have a thousand canaries, and a client one value that is searched for each of them."""
    many = [canary(header="x-try", pattern=f"(a|b)*a(a|b){{100}}{number}") for number in range(50)]
    junction = Junction(route(*many, canary(LATER, header="x-try", pattern="b$")))
    assert taken("X-Try: " + "ab" * 10, by=junction) == "later"
    assert taken("X-Try: " + "ab" * 400, by=junction) == "cart"


def test_a_pattern_that_does_not_compile_ends_the_decision_for_whoever_sends_the_header() -> None:
    junction = Junction(route(canary(header="x-try", pattern="(a", cookie="try", weight=100)))
    assert taken("X-Try: a", "Cookie: try=always", by=junction, lot=0) == "cart"
    assert taken("Cookie: try=always", by=junction) == "next"


def test_value_and_pattern_without_a_header_do_nothing() -> None:
    assert taken("X-Try: yes", by=Junction(route(canary(value="yes", pattern="y")))) == "cart"


@pytest.mark.parametrize(
    ("weight", "total", "served"),
    [(0, 100, 0), (25, 100, 250), (100, 100, 1000), (300, 100, 1000), (1, 10, 10), (1, 200, 5)],
)
def test_a_weight_is_a_share_of_its_total_which_is_at_least_100(weight: int, total: int, served: int) -> None:
    junction = Junction(route(canary(weight=weight, total=total)))
    numbers = iter(range(1000))

    def in_turn(limit: int) -> int:
        return next(numbers) * limit // 1000

    plain = request()
    branches = [junction.choose(plain, has_endpoints=lambda _: True, random_below=in_turn) for _ in range(1000)]
    assert sum(branch.backend == NEXT for branch in branches) == served


@pytest.mark.large
def test_weights_of_several_canaries_stand_side_by_side() -> None:
    junction = Junction(route(canary(weight=10), canary(LATER, weight=60, total=300)))
    chance = random.Random(7)
    counts = Counter(
        junction.choose(request(), has_endpoints=lambda _: True, random_below=chance.randrange).names.service
        for _ in range(10_000)
    )
    for service, share in {"next": 0.1, "later": 0.2, "cart": 0.7}.items():
        assert abs(counts[service] - 10_000 * share) < 3 * (10_000 * share * (1 - share)) ** 0.5


def test_what_weights_promise_beyond_all_requests_is_lost_to_the_younger() -> None:
    junction = Junction(route(canary(weight=70), canary(LATER, weight=70)))
    assert [taken(by=junction, lot=lot) for lot in (0, 69, 70, 99)] == ["next", "next", "later", "later"]


def test_headers_of_all_canaries_are_asked_before_any_weight() -> None:
    junction = Junction(route(canary(weight=100), canary(LATER, header="x-later")))
    assert taken("X-Later: always", by=junction) == "later"
    assert taken(by=junction, lot=50) == "next"


def test_never_to_one_canary_says_nothing_about_another() -> None:
    junction = Junction(route(canary(header="x-a", weight=50), canary(LATER, header="x-b", weight=50)))
    assert taken("X-A: never", by=junction, lot=10) == "cart"
    assert taken("X-A: never", by=junction, lot=60) == "later"
    assert taken("X-A: never", "X-B: always", by=junction) == "later"


def test_without_endpoints_a_canary_leaves_its_requests_and_the_main_backend_does_not() -> None:
    junction = Junction(route(canary(header="x-try")))
    assert taken("X-Try: always", by=junction, empty=("next",)) == "cart"
    assert taken("X-Try: always", by=junction, empty=("cart",)) == "cart"


def pin(backend: str) -> str:
    return f"Cookie: INGRESSCOOKIE=key|{mark_of(BackendKey(backend)).decode()}"


def test_a_pinned_client_stays_whatever_the_rules_say() -> None:
    junction = Junction(route(canary(header="x-try", weight=0), affinity=Affinity()))
    assert taken(pin("shop/next:80"), "X-Try: never", by=junction) == "next"
    assert taken(pin("shop/cart:80"), "X-Try: always", by=junction) == "cart"
    assert taken(pin("shop/other:80"), "X-Try: always", by=junction) == "next"
    assert taken(pin("shop/next:80"), by=junction, empty=("next",)) == "cart"


def test_with_legacy_the_rules_decide_each_time() -> None:
    junction = Junction(route(canary(header="x-try", follows_affinity=False), affinity=Affinity()))
    assert taken(pin("shop/next:80"), by=junction) == "cart"
    assert taken(pin("shop/cart:80"), "X-Try: always", by=junction) == "next"


def test_a_canary_has_the_affinity_of_the_main_route_or_its_own() -> None:
    mine = Affinity(cookie="mine")
    junction = Junction(
        route(
            canary(header="x-a", affinity=mine),
            canary(LATER, header="x-b", follows_affinity=False, affinity=mine),
            affinity=Affinity(),
        )
    )
    for field, settings_ in (("X-A", Affinity()), ("X-B", mine)):
        branch = junction.choose(request(f"{field}: always"), has_endpoints=lambda _: True, random_below=lambda _: 0)
        assert branch.stickiness is not None
        assert branch.stickiness.settings == settings_
        assert branch.stickiness.mark == mark_of(BackendKey(branch.backend or ""))


def test_only_routes_with_a_choice_have_a_junction() -> None:
    split, sticky, plain = route(canary()), route(affinity=Affinity()), build.route("/plain")
    broken = build.route("/broken", to=None)
    assert [junction_of(each) is not None for each in (split, sticky, plain, broken)] == [True, False, False, False]


@given(
    st.lists(st.sampled_from(["X-Try: always", "X-Try: never", "x_try: a", "Cookie: try=always"]), max_size=3),
    st.integers(0, 99),
    st.integers(0, 120),
)
@examples(100)
def test_every_request_takes_exactly_one_branch(fields: list[str], lot: int, weight: int) -> None:
    junction = Junction(route(canary(header="x-try", cookie="try", weight=weight)))
    assert taken(*fields, by=junction, lot=lot) in {"cart", "next"}


def share(to: str | None, weight: int, **changes: Any) -> Branch:
    return build.branch(to, weight=weight, **changes)


def shared(*branches: Branch) -> Junction:
    return Junction(msgspec.structs.replace(build.route(), branches=branches))


def at(lot: int) -> Callable[[int], int]:
    """Chance that says `lot`."""
    return lambda _below: lot


def test_weights_share_requests_and_no_branch_takes_over_that_of_another() -> None:
    junction = shared(share("shop/cart:80", 1), share(None, 1), share(NEXT, 2))
    chosen = [junction.choose(request(), has_endpoints=lambda _: False, random_below=at(lot)) for lot in range(4)]
    assert [each.backend for each in chosen] == ["shop/cart:80", None, NEXT, NEXT]


def test_a_branch_without_a_weight_gets_nothing() -> None:
    junction = shared(share("shop/cart:80", 0), share(NEXT, 5), share(LATER, 0))
    assert {taken(by=junction, lot=lot) for lot in range(0, 100, 5)} == {"next"}
    assert [(chance, to.backend) for chance, to in junction.chances(request(), has_endpoints=lambda _: True)] == [
        (1.0, NEXT)
    ]


def test_a_cookie_pins_to_a_branch_whatever_its_weight() -> None:
    junction = shared(share("shop/cart:80", 1, affinity=Affinity()), share(NEXT, 0, affinity=Affinity()))
    assert taken(pin("shop/next:80"), by=junction) == "next"
    assert taken(pin("shop/cart:80"), by=junction) == "cart"
    assert taken(by=junction, lot=99) == "cart"


def test_canaries_leave_to_shares_what_they_do_not_take() -> None:
    junction = shared(share("shop/cart:80", 1), share("shop/old:80", 1), canary(header="x-try", weight=20))
    assert taken("X-Try: always", by=junction, lot=0) == "next"
    assert [taken("X-Try: never", by=junction, lot=lot) for lot in (0, 99)] == ["cart", "old"]
    chances = {to.backend: chance for chance, to in junction.chances(request(), has_endpoints=lambda _: True)}
    assert chances == pytest.approx({NEXT: 0.2, "shop/cart:80": 0.4, "shop/old:80": 0.4})


@given(st.lists(st.integers(0, 40), min_size=2, max_size=5).filter(any))
def test_every_lot_goes_to_the_branch_whose_share_it_is_in(weights: list[int]) -> None:
    junction = shared(*(share(f"shop/s{place}:80", weight) for place, weight in enumerate(weights)))
    lots = Counter(
        junction.choose(request(), has_endpoints=lambda _: True, random_below=at(lot)).backend
        for lot in range(sum(weights))
    )
    assert lots == {f"shop/s{place}:80": weight for place, weight in enumerate(weights) if weight}
    chances = junction.chances(request(), has_endpoints=lambda _: True)
    assert {to.backend: chance for chance, to in chances} == pytest.approx(
        {backend: count / sum(weights) for backend, count in lots.items()}
    )
