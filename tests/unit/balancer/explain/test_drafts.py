"""A draft says which objects are missing in it, and is whole once they have spoken."""

from __future__ import annotations

import msgspec
import pytest

from balancer.explain.drafts import Draft, Gap, OpenStep, RouteName, complete, name_of
from balancer.explain.explaining import explain
from balancer.explain.explanations import EndpointFacts
from balancer.live import View
from balancer.model.policies import Affinity
from balancer.model.routes import Route, ServiceName
from tests import builders as build
from tests.matches import destination
from tests.questions import question_of
from tests.unit.balancer.asked import CLIENT, Told, shop, with_canary

CART = RouteName(build.owner("web"), ServiceName("shop", "cart"))
NEXT = RouteName(build.owner("trial"), ServiceName("shop", "next"))
BOTH = msgspec.structs.replace(CART, canaries=(NEXT,))


def draft_of(view: View, *fields: str, url: str = "http://shop.test/") -> Draft:
    """By the way of a message."""
    sent = msgspec.msgpack.encode(explain(question_of(url, fields, client=CLIENT), view, now=0.0, live=True))
    return msgspec.msgpack.decode(sent, type=Draft)


@pytest.mark.parametrize("next_zones", ["b", ""], ids=["canary with endpoints", "canary without"])
@pytest.mark.parametrize(
    ("route", "fields", "involved", "served"),
    [
        (build.route(), (), (CART,), CART),
        (with_canary(30), (), (BOTH,), BOTH),
        (with_canary(30), ("X-Try: always",), (BOTH, NEXT), NEXT),
        (with_canary(60, affinity=Affinity()), ("X-Try: never",), (BOTH,), BOTH),
        (with_canary(60, affinity=Affinity()), ("X-Try: always",), (BOTH, NEXT), NEXT),
    ],
    ids=["plain", "to the main backend", "to the canary", "sticky, to the main backend", "sticky, to the canary"],
)
def test_it_names_the_routes_whose_objects_decide(
    route: Route, fields: tuple[str, ...], involved: tuple[RouteName, ...], served: RouteName, next_zones: str
) -> None:
    found = draft_of(shop(route, next=next_zones), *fields)
    if not next_zones:
        involved, served = involved[:1], involved[0]
    assert (found.involved, found.served) == (involved, served)
    assert [step.gap for step in found.steps if isinstance(step, OpenStep)] == [Gap.SLICES, Gap.POLICY, Gap.FINDINGS]
    told = complete(found, Told())
    assert {
        f"slices of {served.service.name}",
        f"The zone policy is prefer-zone: as for {served.service.name}.",
    } <= set(told.steps)
    assert told.steps[-1] == f"findings of {', '.join(each.owner.name for each in involved)}"
    assert (found.explanation.policy_source, told.policy_source) == (None, "configmap")


def test_without_an_endpoint_to_choose_only_findings_are_missing() -> None:
    broken = draft_of(shop(build.route(to=None)))
    missing = RouteName(build.owner("web"), ServiceName("shop", "missing"))
    assert (broken.involved, broken.served, broken.addresses) == ((missing,), None, ())
    missed = draft_of(shop(build.route("/cart")), url="http://other.test/")
    assert (missed.involved, missed.served) == ((), None)
    for draft, last in ((broken, "findings of web"), (missed, "findings of other.test")):
        assert [step for step in draft.steps if isinstance(step, OpenStep)] == [OpenStep(Gap.FINDINGS)]
        assert complete(draft, Told()).steps[-1] == last


def test_slices_know_the_pods_of_endpoints_and_the_endpoints_that_are_not_used() -> None:
    found = draft_of(shop(cart="a"))
    assert found.addresses == ("10.0.0.1",)
    found = msgspec.structs.replace(found, addresses=("10.0.9.1",))
    assert complete(found, Told()).endpoints == (
        EndpointFacts("10.0.0.1:80", "zone-a", None, "pod-1", "ready"),
        EndpointFacts("10.0.9.2", "zone-x", None, "pod-2", "not ready, not used"),
    )


def test_a_route_is_named_with_its_canaries() -> None:
    assert name_of(destination(build.route())) == CART
    assert name_of(destination(with_canary(30))) == BOTH
