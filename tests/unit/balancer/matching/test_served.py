"""What is made of a route at the swap."""

from __future__ import annotations

import msgspec

from balancer.http.messages import RequestHead
from balancer.matching.gates.making import make_gate
from balancer.matching.gates.verdicts import Gate
from balancer.matching.routing import RouteTable, compile_routes
from balancer.matching.served import Served, narrowed
from balancer.model.cors import CorsPolicy, CorsPolicyPreflight
from balancer.model.edits import EditFields, RequestEdit
from balancer.model.endpoints import BackendKey
from balancer.model.gates import GateRule
from balancer.model.mirroring import BackendMirror
from balancer.model.policies import RoutePolicy
from balancer.model.redirects import RouteRedirect
from balancer.model.rewriting import PathReplacement
from balancer.model.routes import Branch, BranchFilters, Host, Route
from tests import builders as build
from tests.questions import question_of


def table(*hosts: Host, default_route: Route | None = None) -> RouteTable:
    return compile_routes(build.model(hosts=hosts, default_route=default_route))


def test_a_matched_route_with_several_branches_has_a_junction() -> None:
    split = build.route("/a", canaries=[build.canary()])
    routes = table(build.host("shop.test", split, build.route("/b")))
    found, plain = routes.match(b"shop.test", b"/a"), routes.match(b"shop.test", b"/b")
    assert found is not None and found.served.junction is not None
    assert found.served.junction.main.route is found.served.route is split
    assert plain is not None and plain.served.junction is None


def test_what_a_request_needs_of_a_route_is_ready_at_the_swap() -> None:
    replaced = build.route("/a", policy=RoutePolicy(host="other.test"))
    routes = table(build.host("shop.test", replaced, build.route("/b")))
    matches = routes.match(b"shop.test", b"/a"), routes.match(b"shop.test", b"/b")
    assert [match and (match.served.host, match.captures) for match in matches] == [(b"other.test", ()), (None, ())]


def test_a_closed_route_is_served_as_closed() -> None:
    assert Served(msgspec.structs.replace(build.route(), closed=True), make_gate).closed
    assert not Served(build.route(), make_gate).closed


def split(*branches: Branch) -> Route:
    return msgspec.structs.replace(build.route(), branches=branches)


def request() -> RequestHead:
    return question_of("http://shop.test/").request


def test_branches_with_filters_are_chosen_before_gates_are_asked() -> None:
    redirected = build.branch(filters=BranchFilters(gates=(RouteRedirect(host="other.test"),)))
    served = Served(split(redirected, build.branch("shop/next:80")), make_gate)
    fork = served.fork
    assert fork is not None and fork.junction is not None and fork.main.main.backend == "shop/cart:80"
    chosen = [
        fork.choose(request(), has_endpoints=lambda _: True, random_below=lambda below: below - 1),
        fork.choose(request(), has_endpoints=lambda _: True, random_below=lambda _: 0),
    ]
    assert [(each.main.backend, len(each.plain_gates)) for each in chosen] == [("shop/next:80", 0), ("shop/cart:80", 1)]
    assert {id(each.main.count) for each in chosen} == {id(served.main.count)}
    assert all(each.fork is None and each.junction is None for each in chosen)


def test_a_single_branch_with_filters_is_no_choice() -> None:
    fork = Served(split(build.branch(filters=BranchFilters(host="inner.test"))), make_gate).fork
    assert fork is not None and fork.junction is None
    chosen = fork.choose(request(), has_endpoints=lambda _: True, random_below=lambda _: 0)
    assert chosen is fork.main and chosen.host == b"inner.test"


def test_what_serves_a_branch_is_made_once_and_not_before_a_request() -> None:
    made = list[object]()

    def make(rule: GateRule) -> Gate:
        made.append(rule)
        return make_gate(rule)

    redirect = RouteRedirect(host="other.test")
    fork = Served(split(build.branch(filters=BranchFilters(gates=(redirect,)))), make).fork
    assert fork is not None
    assert made == []
    assert fork.main is fork.main
    assert made == [redirect]


def test_a_closed_route_has_no_fork_and_neither_has_one_without_filters() -> None:
    filtered = split(build.branch(filters=BranchFilters(host="inner.test")))
    assert Served(msgspec.structs.replace(filtered, closed=True), make_gate).fork is None
    assert Served(split(build.branch(), build.branch("shop/next:80")), make_gate).fork is None


def test_filters_of_a_branch_come_after_those_of_its_route() -> None:
    policy, own_policy = CorsPolicy(("*",)), CorsPolicy(("https://shop.test",))
    mirrors = [BackendMirror(BackendKey(f"shop/copy{number}:80"), "shop") for number in (1, 2)]
    branch = build.branch(
        request_edits=(RequestEdit(remove=("b",)),),
        response_rules=(EditFields(remove=("c",)), own_policy),
        filters=BranchFilters(
            gates=(CorsPolicyPreflight(own_policy), RouteRedirect()),
            rewriting=PathReplacement("/own"),
            mirrors=(mirrors[1],),
        ),
    )
    route = msgspec.structs.replace(
        split(branch),
        policy=RoutePolicy(host="route.test"),
        gates=(CorsPolicyPreflight(policy),),
        rewriting=PathReplacement("/route"),
        mirrors=(mirrors[0],),
        request_edits=(RequestEdit(remove=("a",)),),
        response_rules=(policy,),
    )
    alone = narrowed(route, branch)
    assert alone.gates == (CorsPolicyPreflight(own_policy), RouteRedirect())
    assert (alone.policy.host, alone.rewriting) == ("route.test", PathReplacement("/own"))
    assert alone.mirrors == tuple(mirrors)
    assert alone.request_edits == (RequestEdit(remove=("a",)), RequestEdit(remove=("b",)))
    assert alone.response_rules == (EditFields(remove=("c",)), own_policy)
    assert alone.main == build.branch()
