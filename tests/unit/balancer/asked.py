"""A small shop to explain requests in, with a background that says the same of everything."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from balancer.explain.drafts import PolicySource, RouteName, SliceEntry, complete
from balancer.explain.explaining import explain
from balancer.explain.explanations import Explanation
from balancer.live import LiveTable, View
from balancer.model.endpoints import BackendKey
from balancer.model.publication import RoutingModel
from balancer.model.routes import Canary, Route
from balancer.model.zones import ZoneFacts, ZonePolicy
from balancer.picking.outcomes import Outcome
from tests import builders as build
from tests.questions import question_of

CART, NEXT = BackendKey("shop/cart:80"), BackendKey("shop/next:80")
CLIENT = "192.0.2.7"


class Told:
    """A background that says the same of everything."""

    def policy_source(self, route: RouteName) -> PolicySource:
        return PolicySource("configmap", f"as for {route.service.name}")

    def slice_steps(self, route: RouteName) -> list[str]:
        return [f"slices of {route.service.name}"]

    def slice_entries(self, route: RouteName) -> list[SliceEntry]:
        return [SliceEntry(f"10.0.9.{number}", "zone-x", None, f"pod-{number}", "not ready") for number in (1, 2)]

    def finding_steps(self, host: str, routes: Sequence[RouteName]) -> list[str]:
        return [f"findings of {', '.join(route.owner.name for route in routes) or host}"]


def explained(
    view: View, *fields: str, url: str = "http://shop.test/", live: bool = True, now: float = 0.0
) -> Explanation:
    return complete(explain(question_of(url, fields, client=CLIENT), view, now=now, live=live), Told())


def view_of(content: RoutingModel) -> View:
    live = LiveTable(random.Random(1).randrange)
    live.swap(build.publication(1, content))
    return live.view


def shop(
    route: Route | None = None,
    *,
    cart: str = "aabbcc",
    next: str = "b",
    zone: str | None = "zone-a",
    policy: ZonePolicy = build.PREFER_ZONE,
    facts: ZoneFacts | None = None,
) -> View:
    """The Services cart and next, a letter for the zone of each endpoint; without a route, all leads to cart."""
    backends = [build.backend(key, build.endpoints(of), zone_policy=policy) for key, of in ((CART, cart), (NEXT, next))]
    content = build.model(*backends, hosts=[build.host("shop.test", route or build.route())], zone=zone)
    return view_of(msgspec.structs.replace(content, zones=facts or ZoneFacts()))


def with_canary(weight: int = 0, **main: Any) -> Route:
    """A route with a canary; `main` is what `builders.route` takes."""
    canary = build.canary(NEXT, rules=Canary(header="X-Try", weight=weight), affinity=main.get("affinity"))
    return build.route(canaries=(canary,), **main)


def eject(view: View, *labels: str, at: float = 0.0) -> None:
    """By failures, for ten seconds."""
    runtime = view.backends[CART]
    for label in labels:
        for _ in range(5):
            runtime.health.report(runtime.members[label].health, Outcome.UNREACHED, now=at)


def shares_of(told: Explanation) -> Mapping[str | None, float]:
    """Every reason with its share of the requests, whatever the mode."""
    if told.shares is msgspec.UNSET:
        return {told.reason: 1.0}
    shares: dict[str | None, float] = {}
    for share in told.shares:
        shares[share.reason] = shares.get(share.reason, 0.0) + share.probability
    return shares
