"""Which backend of its route a request is for, as explained: the main one, a canary, or a stand-in."""

from __future__ import annotations

import msgspec
import pytest

from balancer.errors import ErrorKind
from balancer.explain.branching import branching_of
from balancer.live import View
from balancer.matching.served import Served
from balancer.model.redirects import RouteRedirect
from balancer.model.routes import BranchFilters, Route
from balancer.model.stand_ins import StandIns
from tests import builders as build
from tests.questions import question_of
from tests.unit.balancer.asked import NEXT, explained, shop, with_canary

INSTEAD = StandIns(without_endpoints=NEXT)


def served_in(view: View) -> Served:
    match = view.configurations["http"].match(b"shop.test", b"/")
    assert match is not None
    return match.served


def standing_in(cart: str, route: Route | None = None) -> View:
    return shop(msgspec.structs.replace(route or build.route(), stand_ins=INSTEAD), cart=cart)


def test_a_route_without_branches_serves_itself() -> None:
    view = shop()
    served = served_in(view)
    found = branching_of(served, question_of("http://shop.test/"), view)
    assert (found.to, found.owners, found.steps) == (served.main, (served.main,), [])


def test_a_canary_is_an_owner_as_well() -> None:
    view = shop(with_canary(weight=100))
    found = branching_of(served_in(view), question_of("http://shop.test/"), view)
    assert (found.to.backend, len(found.owners)) == (NEXT, 2)


@pytest.mark.parametrize(("cart", "service", "endpoint"), [("", "next", True), ("a", "cart", False)])
def test_a_stand_in_serves_while_there_are_no_endpoints(cart: str, service: str, endpoint: bool) -> None:
    told = explained(standing_in(cart))
    assert told.service == f"shop/{service}"
    assert told.canary is None
    assert told.status is None
    sentence = "Service cart has no endpoints, so next serves (default-backend)."
    assert (sentence in told.steps) is endpoint


def test_the_weights_of_branches_are_told_and_an_invalid_share_answers_for_itself() -> None:
    invalid = build.branch(None, weight=3, error=ErrorKind.BACKEND_INVALID)
    route = msgspec.structs.replace(build.route(), branches=(build.branch(weight=1), invalid))
    told = explained(shop(route))
    assert (told.status, told.error, told.service) == (500, "backend_invalid", "shop/missing")
    assert (
        "The weights send 25 % to Service shop/cart, 75 % to Service shop/missing. "
        "The next steps describe Service shop/missing, the most probable."
    ) in told.steps


def test_a_branch_with_filters_is_told_before_its_gates() -> None:
    redirected = build.branch(weight=3, filters=BranchFilters(gates=(RouteRedirect(host="other.test"),)))
    route = msgspec.structs.replace(build.route(), branches=(redirected, build.branch("shop/next:80")))
    told = explained(shop(route))
    assert (told.status, told.location) == (302, "http://other.test/")
    weights = "The weights send 75 % to Service shop/cart, 25 % to Service shop/next."
    assert any(str(step).startswith(weights) for step in told.steps)
    alone = msgspec.structs.replace(build.route(), branches=(redirected,))
    assert explained(shop(alone)).status == 302
