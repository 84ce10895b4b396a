"""What is explained is what is served: the same reason, mode and endpoints that real picks have."""

from __future__ import annotations

import random
from collections.abc import Sequence

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from balancer.affinity import mark_of
from balancer.asking import Question, question_of
from balancer.backend import BackendRuntime
from balancer.explaining import Explanation, PolicySource, explain
from balancer.health import Outcome
from balancer.live import LiveTable, View
from balancer.members import Pick
from balancer.model import Affinity, BackendKey, Canary, Host, LoadBalancing, Route, RoutePolicy, RoutingModel
from balancer.routing import compile_routes
from balancer.sessions import Session
from tests import builders as build
from tests.unit.balancer.test_zone_invariants import Scene, scenes

CART, NEXT = BackendKey("shop/cart:80"), BackendKey("shop/next:80")
CLIENT = "192.0.2.7"
PICKS = 200


class Told:
    """A background that says the same of everything."""

    def policy_source(self, route: Route) -> PolicySource:
        return PolicySource("configmap", f"as for {route.service}")

    def slice_steps(self, route: Route) -> list[str]:
        return [f"slices of {route.service}"]

    def finding_steps(self, host: str, routes: Sequence[Route]) -> list[str]:
        return [f"findings of {', '.join(route.ingress for route in routes) or host}"]


def explained(
    view: View, *fields: str, url: str = "http://shop.test/", live: bool = True, now: float = 0.0
) -> Explanation:
    return explain(question_of(url, fields, client=CLIENT), view, background=Told(), now=now, live=live)


def view_of(content: RoutingModel, *, seed: int = 1) -> View:
    live = LiveTable(random.Random(seed).randrange)
    live.swap(build.publication(1, content))
    return live.view


def shop(zones: str = "aabbcc", *, route: Route | None = None, zone: str | None = "zone-a") -> View:
    backends = [build.backend(key, build.endpoints(zones), zone_policy=build.PREFER_ZONE) for key in (CART, NEXT)]
    return view_of(build.model(*backends, hosts=[build.host("shop.test", route or build.route())], zone=zone))


def with_canary(weight: int = 0, *, header: str = "X-Try", affinity: Affinity | None = None) -> Route:
    canary = Canary(NEXT, "shop", "trial", "next", header=header, weight=weight, affinity=affinity)
    return msgspec.structs.replace(build.route(), canaries=(canary,), affinity=affinity)


def served(question: Question, view: View, chance: random.Random, now: float) -> tuple[str, Pick | None]:
    """The Service and the pick of a request, by the steps of `proxy.serving` and `proxy.attempts`."""
    route = view.routes.match(question.request.host_name, question.request.path)
    assert route is not None
    junction, branch = view.routes.junctions.get(id(route)), None
    if junction is not None:
        branch = junction.choose(
            question.request, has_endpoints=view.has_endpoints, random_below=chance.randrange
        )
        route = branch.route
    assert route.backend is not None
    runtime = view.backends[route.backend]
    balancer = runtime.balancer(route.zone_policy, now)
    if branch is None or (branch.stickiness is None and branch.hash_text is None):
        return f"{route.namespace}/{route.service}", balancer.pick((), now)
    session = Session(
        branch,
        runtime=runtime,
        balancer=balancer,
        request=question.request,
        peer=question.client,
        new_key=lambda: b"%d" % chance.randrange(10**9),
    )
    return f"{route.namespace}/{route.service}", session.pick((), now)


AFFINITIES = (None, None, Affinity(), Affinity(persistent=True), Affinity(change_on_failure=True))
BALANCING = (LoadBalancing.ROUND_ROBIN, LoadBalancing.LEAST_REQUEST, LoadBalancing.EWMA)


def view_with(scene: Scene, other: Scene, route: Route, balancing: LoadBalancing) -> View:
    """A view whose Services cart and next are as two scenes say."""
    backends: dict[BackendKey, BackendRuntime] = {}
    for key, each in ((CART, scene), (NEXT, other)):
        backend = msgspec.structs.replace(each.backend, key=key, load_balancing=balancing)
        backends[key] = each._replace(backend=backend, own=scene.own, facts=scene.facts).runtime()
    content = msgspec.structs.replace(
        build.model(*(runtime.backend for runtime in backends.values()), hosts=[Host("shop.test", (route,))]),
        own_zone=scene.own,
    )
    return View(1, scene.own, content, compile_routes(content), backends)


@settings(max_examples=150)
@given(
    scenes,
    scenes,
    st.sampled_from(AFFINITIES),
    st.sampled_from(["", "$arg_x", "$remote_addr"]),
    st.sampled_from(BALANCING),
    st.sampled_from([0, 30, 100]),
    st.sampled_from([(), ("X-Try: always",), ("X-Try: never",)]),
    st.sampled_from(["", "key", "10.0.0.1:80"]),
)
def test_the_explanation_is_what_real_picks_give(
    scene: Scene,
    other: Scene,
    affinity: Affinity | None,
    hash_by: str,
    balancing: LoadBalancing,
    weight: int,
    fields: tuple[str, ...],
    key: str,
) -> None:
    route = msgspec.structs.replace(with_canary(weight, affinity=affinity), hash_by=hash_by)
    view = view_with(scene, other, route, balancing)
    cookies = [f"Cookie: INGRESSCOOKIE={key}|{mark_of(CART).decode()}"] if key else []
    question = question_of("http://shop.test/?x=1", [*fields, *cookies], client=CLIENT)
    told = explain(question, view, background=Told(), now=scene.now, live=True)
    chance = random.Random(scene.seed)
    pool = {candidate.endpoint: candidate for candidate in told.pool}
    reasons = {told.reason}
    if told.shares is not msgspec.UNSET:
        reasons = {share.reason for share in told.shares}
    assert sum(candidate.probability for candidate in told.pool) == pytest.approx(1.0 if None not in reasons else 0.0) or (
        told.shares is not msgspec.UNSET
    )
    for _ in range(PICKS if affinity is None else 20):
        service, pick = served(question, view, chance, scene.now)
        if service != told.service:
            continue
        assert (pick.reason.value if pick is not None else None) in (reasons if pick else {None, "ordered_none"})
        if pick is None:
            assert not told.pool or told.shares is not msgspec.UNSET
        elif not pick.probe:
            assert pool[pick.member.label].probability > 0
            assert pool[pick.member.label].zone == pick.endpoint.zone


def ejected(view: View, label: str, *, until: float) -> None:
    runtime = view.backends[CART]
    for _ in range(5):
        runtime.health.report(runtime.members[label].health, Outcome.FAILED, now=until - 10.0)


def test_a() -> None:
    view = shop(route=with_canary(10))
    print(msgspec.json.format(msgspec.json.encode(explained(view))).decode())
    ejected(view, "10.0.0.1:80", until=5.0)
    print(msgspec.json.format(msgspec.json.encode(explained(view, "X-try: never"))).decode())
