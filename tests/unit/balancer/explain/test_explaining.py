"""What is explained is what is served: the same reason, mode and endpoints that real picks have."""

from __future__ import annotations

import random
from collections import Counter
from typing import NamedTuple

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.explain.asking import Question
from balancer.explain.drafts import complete
from balancer.explain.explaining import explain
from balancer.http.edits import response_edits
from balancer.live import View
from balancer.matching.affinity import mark_of
from balancer.matching.certificates import CertificateFacts
from balancer.matching.routing import compile_routes
from balancer.model.endpoints import BackendKey, LoadBalancing
from balancer.model.gates import SourceRanges
from balancer.model.policies import Affinity
from balancer.model.redirects import HttpsRedirect
from balancer.model.routes import INGRESS, Host, PathParameters, Route
from balancer.model.scripts import RewritePath, Script
from balancer.model.zones import OwnZone, Zone, ZoneFacts, ZonePolicy, ZonePolicyName
from balancer.picking.backend import BackendRuntime
from balancer.picking.members import Pick
from balancer.picking.sessions import Session
from tests import builders as build
from tests.properties import examples
from tests.questions import question_of
from tests.unit.balancer.asked import CART, CLIENT, NEXT, Told, eject, explained, shares_of, shop, view_of, with_canary
from tests.unit.balancer.test_zone_invariants import Scene, scenes

NO_PICK = {None, "ordered_none"}
PICKS = 200
PICKS_OF_NEW_CLIENTS = 20  # each draws up to 64 keys


def served(question: Question, view: View, chance: random.Random, now: float) -> tuple[str, bool, Pick | None]:
    """Service, whether the mode is zonal, and pick of a request, by the steps of `serving` and `attempts`."""
    match = view.configurations["http"].match(question.request.host_name, question.request.path)
    assert match is not None
    to, junction = match.served.main, match.served.junction
    if junction is not None:
        to = junction.choose(question.request, has_endpoints=view.has_endpoints, random_below=chance.randrange)
    assert to.backend is not None
    runtime = view.backends[to.backend]
    balancer = runtime.balancer(to.zone_policy, now)
    decided = to.branch.service.full_name, balancer.pools.zonal_mode
    if not to.is_held:
        return *decided, balancer.pick((), now)
    session = Session(
        to,
        runtime=runtime,
        balancer=balancer,
        request=question.request,
        peer=question.client,
        new_key=lambda: b"%d" % chance.randrange(10**9),
        random_below=chance.randrange,
    )
    return *decided, session.pick((), now)


def view_with(scene: Scene, other: Scene, route: Route, balancing: LoadBalancing) -> View:
    """A view whose Services cart and next are as two scenes say."""
    backends: dict[BackendKey, BackendRuntime] = {}
    for key, each in ((CART, scene), (NEXT, other)):
        backend = msgspec.structs.replace(each.backend, key=key, load_balancing=balancing)
        backends[key] = each._replace(backend=backend, own=scene.own, facts=scene.facts).runtime()
    content = build.model(*(runtime.backend for runtime in backends.values()), hosts=[Host("shop.test", (route,))])
    content = msgspec.structs.replace(content, own_zone=scene.own)
    return View(
        1, scene.own, content, {INGRESS: compile_routes(content)}, backends, edits=response_edits(content.proxy)
    )


class Case(NamedTuple):
    """A view, and what a client sends: header fields, and a key in the affinity cookie of Service cart."""

    scene: Scene
    other: Scene
    affinity: Affinity | None
    hash_by: str
    hash_subset: int
    balancing: LoadBalancing
    weight: int
    fields: tuple[str, ...]
    key: str

    def view(self) -> View:
        route = with_canary(self.weight, affinity=self.affinity, hash_by=self.hash_by, hash_subset=self.hash_subset)
        return view_with(self.scene, self.other, route, self.balancing)

    def question(self) -> Question:
        cookies = [f"Cookie: INGRESSCOOKIE={self.key}|{mark_of(CART).decode()}"] if self.key else []
        return question_of("http://shop.test/?x=1", [*self.fields, *cookies], client=CLIENT)


cases = st.builds(
    Case,
    scenes,
    scenes,
    st.sampled_from((None, Affinity(), Affinity(persistent=True), Affinity(change_on_failure=True))),
    st.sampled_from(["", "$arg_x", "$remote_addr", "$arg_missing"]),
    st.sampled_from([1, 3]),
    st.sampled_from(LoadBalancing),
    st.sampled_from([0, 30, 100]),
    st.sampled_from([(), ("X-Try: always",), ("X-Try: never",)]),
    st.sampled_from(["", "key"]),
)


@examples(200)
@given(cases)
def test_the_explanation_is_what_real_picks_give(case: Case) -> None:
    view, question, now = case.view(), case.question(), case.scene.now
    told = complete(explain(question, view, now=now, live=True), Told())
    pool = {candidate.endpoint: candidate for candidate in told.pool}
    shares = shares_of(told)
    picked = sum(share for reason, share in shares.items() if reason not in NO_PICK)
    assert sum(candidate.probability for candidate in told.pool) == pytest.approx(picked)
    assert sum(shares.values()) == pytest.approx(1)
    modes = {told.mode} if told.shares is msgspec.UNSET else {share.mode for share in told.shares}
    impaired = any(runtime.health.impaired for runtime in view.backends.values())  # then the mode may be another
    chance = random.Random(case.scene.seed)
    for _ in range(PICKS if case.affinity is None else PICKS_OF_NEW_CLIENTS):
        service, zonal, pick = served(question, view, chance, now)
        if service != told.service:
            continue  # by weight; the explanation is about the most probable branch
        if pick is None:
            assert not shares.keys().isdisjoint(NO_PICK)
        elif not pick.probe:
            assert pool[pick.member.label].probability > 0
            assert pool[pick.member.label].zone == pick.endpoint.zone
            assert pick.reason.value in shares
            assert impaired or ("zonal" if zonal else "general") in modes
            assert pick.foretold is None or told.dry_run_reason is not msgspec.UNSET


@examples(200)
@given(scenes)
def test_asking_takes_nobodys_turn_and_names_who_is_next(scene: Scene) -> None:
    view = view_with(scene, scene, build.route(), LoadBalancing.ROUND_ROBIN)
    question = question_of("http://shop.test/")
    for _ in range(3):
        told = [complete(explain(question, view, now=scene.now, live=True), Told()) for _ in range(3)]
        assert told[0] == told[1] == told[2]
        *_, pick = served(question, view, random.Random(1), scene.now)
        # Chance decides between several rotations, and between two endpoints under `adaptive`.
        by_turns = scene.backend.zone_policy.name is not ZonePolicyName.ADAPTIVE
        if by_turns and len(view.backends[CART].chances(None, scene.now)) == 1:
            assert told[0].endpoint == (pick.member.label if pick is not None else None)


@given(st.integers(0, 7))
def test_the_next_one_is_the_one_that_comes_next(turns: int) -> None:
    view = shop()
    for _ in range(turns):
        view.backends[CART].balancer().pick()
    told = explained(view)
    pick = view.backends[CART].balancer().pick()
    assert pick is not None and told.endpoint == pick.member.label


@pytest.mark.parametrize(
    ("policy", "facts"),
    [
        (
            ZonePolicy(ZonePolicyName.PROPORTIONAL, min_cluster_size=2),
            ZoneFacts(replicas=((Zone("zone-a"), 3), (Zone("zone-b"), 1))),
        ),
        (ZonePolicy(ZonePolicyName.PREFER_ZONE, rollout_percent=30), ZoneFacts()),
    ],
)
def test_probabilities_are_those_of_many_picks(policy: ZonePolicy, facts: ZoneFacts) -> None:
    view, count = shop(cart="abbb", policy=policy, facts=facts), 4000
    told = explained(view)
    assert len(shares_of(told)) == 2
    balancers = [view.backends[CART].balancer(None, 0.0) for _ in range(count)]
    picks = Counter(pick.member.label for each in balancers if (pick := each.pick()) is not None)
    for candidate in told.pool:
        share = candidate.probability
        assert abs(picks[candidate.endpoint] - count * share) < 5 * (count * share * (1 - share)) ** 0.5


def test_a_request_stays_in_its_zone() -> None:
    told = explained(shop(), live=False)
    assert (told.host, told.path, told.ingress, told.service, told.canary) == (
        "shop.test",
        "/",
        "shop/web",
        "shop/cart",
        None,
    )
    assert (told.own_zone, told.own_zone_source, told.policy, told.policy_source) == (
        "zone-a",
        "flag",
        "prefer-zone",
        "configmap",
    )
    assert (told.mode, told.reason, told.to_zone, told.endpoint) == ("zonal", "zone_local", "zone-a", None)
    assert {candidate.endpoint: candidate.probability for candidate in told.pool} == {
        "10.0.0.1:80": 0.5,
        "10.0.0.2:80": 0.5,
    }
    assert (told.shares, told.dry_run_reason) == (msgspec.UNSET, msgspec.UNSET)


def test_what_several_zones_may_serve_leads_to_no_zone() -> None:
    told = explained(shop(cart="bbc"))
    assert (told.mode, told.reason, told.to_zone) == ("general", "zone_empty", None)
    assert explained(shop(cart="--")).to_zone is None
    assert explained(shop(cart="bb")).to_zone == "zone-b"


def test_the_steps_come_in_the_order_of_the_decision() -> None:
    told = explained(shop(with_canary(10)))
    beginnings = [
        "The request is for host shop.test and path /.",
        "Host shop.test is served by the exact name shop.test.",
        "Path / is matched by Prefix / of Ingress shop/web.",
        "Canary shop/trial",
        "The weights send",
        "slices of cart",
        "Backend shop/cart:80 has 6 ready endpoints: 2 in zone-a, 2 in zone-b, 2 in zone-c.",
        "This replica is in zone-a",
        "The zone policy is prefer-zone: as for cart.",
        "Mode zonal, reason zone_local: The endpoint is in the own zone.",
        "Zonal pool: 10.0.0.1:80, 10.0.0.2:80.",
        "General pool:",
        "Endpoints to pick from:",
        "The next endpoint in turn is",
        "Limits: request bodies of 1048576 bytes; 5 s to connect",
        "findings of web",
    ]
    assert len(told.steps) == len(beginnings)
    for step, beginning in zip(told.steps, beginnings, strict=True):
        assert step.startswith(beginning)


def test_without_a_route_there_are_steps_and_findings_and_nothing_else() -> None:
    told = explained(shop(), url="http://other.test/a/../b")
    assert (told.path, told.ingress, told.service, told.mode, told.reason) == ("/b", None, None, None, None)
    assert (told.pool, told.policy, told.policy_source) == ((), None, None)
    assert told.steps[0] == "The request is for host other.test and path /b (normalised from /a/../b)."
    assert told.steps[-1] == "findings of other.test"


def test_a_broken_reference_is_named() -> None:
    told = explained(shop(build.route(to=None)))
    assert (told.service, told.mode, told.pool) == ("shop/missing", None, ())
    assert "The backend of this path cannot be used, so the answer is 503." in told.steps


def test_a_closed_path_is_said_to_be_closed_on_purpose() -> None:
    told = explained(shop(msgspec.structs.replace(build.route(), closed=True)))
    assert (told.mode, told.pool) == (None, ())
    assert "The path is closed on purpose, so the answer is 503. Findings say why." in told.steps


def test_a_redirect_is_said_and_what_comes_after_it_explained() -> None:
    route = msgspec.structs.replace(build.route(), gates=(HttpsRedirect(),))
    told = explained(shop(route), url="http://shop.test/a/?b")
    assert (
        "Plain HTTP is answered with 308 to https://shop.test/a/?b. The next steps describe the request to that URL."
        in told.steps
    )
    assert (told.status, told.error, told.location) == (308, None, "https://shop.test/a/?b")
    assert told.certificate == CertificateFacts()
    assert told.reason == "zone_local"
    assert not any("308" in step for step in explained(shop(route), url="https://shop.test/a").steps)


def test_a_canary_is_explained_with_its_own_zones() -> None:
    told = explained(shop(with_canary()), "X-Try: always")
    assert (told.ingress, told.service, told.canary) == ("shop/web", "shop/next", "shop/trial")
    assert (told.reason, told.to_zone) == ("zone_empty", "zone-b")
    assert told.steps[-1] == "findings of web, trial"
    assert explained(shop(with_canary()), "X-Try: never").canary is None


def test_of_branches_by_weight_the_most_probable_is_explained() -> None:
    assert explained(shop(with_canary(49))).service == "shop/cart"
    assert explained(shop(with_canary(50))).service == "shop/cart"
    assert explained(shop(with_canary(51))).service == "shop/next"


def test_a_cookie_holds_a_client_outside_of_its_zone() -> None:
    route = build.route(affinity=Affinity())
    view = shop(route)
    cookies = [f"Cookie: INGRESSCOOKIE={key}|{mark_of(CART).decode()}" for key in range(20)]
    told = [explained(view, cookie) for cookie in cookies]
    assert all(len(each.pool) == 1 and each.mode == "zonal" for each in told)
    assert {each.reason for each in told} == {"zone_local", "affinity_override"}
    assert {each.to_zone for each in told} == {"zone-a", "zone-b", "zone-c"}
    assert explained(view).to_zone == "zone-a"


def test_a_hash_of_an_unknown_client_may_lead_anywhere() -> None:
    view = shop(build.route(hash_by="$remote_addr"))
    unknown = complete(explain(question_of("http://shop.test/"), view, now=0.0, live=False), Told())
    assert [candidate.probability for candidate in unknown.pool] == [pytest.approx(1 / 6)] * 6
    assert shares_of(unknown) == {"zone_local": pytest.approx(1 / 3), "affinity_override": pytest.approx(2 / 3)}
    assert len(explained(view).pool) == 1


def test_health_is_part_of_it_while_serving() -> None:
    view = shop()
    eject(view, "10.0.0.1:80", "10.0.0.2:80")
    told = explained(view, now=1.0)
    assert (told.mode, told.reason) == ("general", "spill_health")
    assert {candidate.zone for candidate in told.pool} == {"zone-b", "zone-c"}
    assert "Endpoint 10.0.0.1:80: ejected for 9.0 s more because it failed too often in a row." in told.steps


def test_a_probe_is_next_and_stays_due_when_asked_for() -> None:
    view = shop()
    eject(view, "10.0.0.1:80")
    for _ in range(2):
        told = explained(view, now=11.0)
        assert told.endpoint == "10.0.0.1:80"
        assert [candidate.endpoint for candidate in told.pool] == ["10.0.0.2:80"]
    pick = view.backends[CART].balancer().pick((), 11.0)
    assert pick is not None and pick.probe and pick.member.label == "10.0.0.1:80"


def test_a_dry_run_says_what_the_policy_would_have_done() -> None:
    told = explained(shop(policy=ZonePolicy(ZonePolicyName.PREFER_ZONE, dry_run=True)))
    assert (told.mode, told.reason, told.dry_run_reason) == ("general", "off", "zone_local")
    assert len(told.pool) == 6


def test_a_strict_list_without_a_match_is_a_503_with_a_reason() -> None:
    policy = ZonePolicy(ZonePolicyName.ORDERED, keys=("topology.kubernetes.io/zone",))
    told = explained(shop(cart="bb", policy=policy))
    assert (told.policy, told.mode, told.reason) == ("ordered: topology.kubernetes.io/zone", "zonal", "ordered_none")
    assert (told.pool, told.endpoint, told.to_zone) == ((), None, None)


def test_without_any_endpoint_there_is_no_reason_because_there_is_no_pick() -> None:
    told = explained(shop(cart=""))
    assert (told.mode, told.reason, told.pool, told.endpoint) == ("general", None, (), None)
    assert "No endpoint can serve, so the answer is 503." in told.steps


def test_an_unknown_zone_is_none() -> None:
    told = explained(shop(zone=None))
    assert (told.own_zone, told.own_zone_source, told.reason) == (None, OwnZone().source, "own_zone_unknown")


GUARDED = msgspec.structs.replace(build.route("/secret", "shop/cart:80"), gates=(SourceRanges(("10.0.0.0/8",)),))


def guarded_shop(parameters: PathParameters) -> View:
    host = build.host("shop.test", build.route("/", "shop/cart:80"), GUARDED)
    host = msgspec.structs.replace(host, path_parameters=parameters)
    return view_of(build.model(build.backend("shop/cart:80", build.endpoints("a")), hosts=[host]))


def test_a_path_that_an_endpoint_could_read_as_a_protected_one_is_explained_as_refused() -> None:
    told = explained(guarded_shop(PathParameters.REFUSE), url="http://shop.test/x/..;/secret")
    assert (told.status, told.error) == (400, "bad_request")
    assert "A path that an endpoint could read as a protected one. The answer is 400." in told.steps


def test_a_path_that_matches_without_its_parameters_is_explained_so() -> None:
    told = explained(guarded_shop(PathParameters.STRIP), url="http://shop.test/secret;a=b")
    assert told.status == 403
    assert any("Path /secret is matched by Prefix /secret" in step for step in told.steps)


def test_a_request_whose_path_a_snippet_changes_is_explained_where_it_leads() -> None:
    script = Script((RewritePath("^/old/(.*)$", "/new/$1"), RewritePath("^/round", "/round")))
    old = msgspec.structs.replace(build.route(), gates=(script,))
    new = build.route(path="/new", to=NEXT)
    backends = [build.backend(key, build.endpoints("a")) for key in (CART, NEXT)]
    view = view_of(build.model(*backends, hosts=[build.host("shop.test", old, new)], zone="zone-a"))
    told = explained(view, url="http://shop.test/old/a%20b?c")
    assert (told.service, told.path, told.target) == ("shop/next", "/old/a b", "/new/a%20b?c")
    assert "A snippet changes the path to /new/a b, and the request is matched anew." in told.steps
    assert explained(view, url="http://shop.test/round").status == 500
