"""A table of several listeners agrees with a search that reads the rules from the text, host by host."""

from __future__ import annotations

import sys

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from balancer.live import LiveTable
from balancer.matching.routing import RouteTable, compile_routes, compiling
from balancer.model.entry_points import EntryPoint, Protocol
from balancer.model.publication import RoutingModel
from balancer.model.route_configurations import Listener, RouteConfiguration, Wildcards
from balancer.model.routes import Host
from balancer.runtime.steps import finished
from tests import builders as build
from tests.matches import route_for
from tests.properties import examples

NAMES = st.sampled_from(["", "test", "*.test", "a.test", "*.a.test", "b.a.test", "*.b.a.test"])
ASKED = st.sampled_from(["", "test", ".test", "a.test", "x.test", "b.a.test", "x.a.test", "x.y.a.test", "x.b.a.test"])
PATHS = st.sampled_from(["/", "/a", "/b"])
CONFIGURATIONS = st.builds(
    RouteConfiguration,
    key=st.just("web"),
    default_route=st.sampled_from([None, build.route("/", ingress="default")]),
    wildcards=st.sampled_from(list(Wildcards)),
    falls_through=st.booleans(),
)


@st.composite
def contents(draw: st.DrawFn) -> RoutingModel:
    """One route configuration with listeners of different hostnames. A route bears the name of its place."""
    configuration = draw(CONFIGURATIONS)
    hostnames = draw(st.lists(NAMES, max_size=4, unique=True))
    listeners = tuple(Listener(f"listener-{name}", "web", name) for name in sorted(hostnames))
    hosts = []
    for listener in listeners:
        for name in sorted(draw(st.sets(NAMES, max_size=4))):
            paths = sorted(draw(st.sets(PATHS, max_size=2)))
            routes = tuple(build.route(path, ingress=f"{listener.key} {name} {path}") for path in paths)
            hosts.append(Host(name, routes, configuration="web", listener=listener.key))
    return RoutingModel(route_configurations=(configuration,), listeners=listeners, hosts=tuple(hosts), entry_points=())


def rank(name: str, asked: str, wildcards: Wildcards) -> int | None:
    """How well a name of the model covers `asked`: higher is more specific, None is not at all."""
    if name == asked:
        return 1000
    if not name:
        return 0
    suffix = name.removeprefix("*")
    if suffix == name or not asked.endswith(suffix):
        return None
    before = asked.removesuffix(suffix).split(".")
    if "" in before or (wildcards is Wildcards.ONE_LABEL and len(before) > 1):
        return None
    return len(suffix.split("."))


def naively(model: RoutingModel, asked: str, path: str) -> str | None:
    """The owner of the route that serves a request: one listener, then its hosts, then their paths."""
    (configuration,) = model.route_configurations
    default = configuration.default_route
    ranks = {each.key: rank(each.hostname, asked, configuration.wildcards) for each in model.listeners}
    covering = [key for key, found in ranks.items() if found is not None]
    if covering:
        listener = max(covering, key=lambda key: ranks[key] or 0)
        known = [(rank(host.name, asked, configuration.wildcards), host) for host in model.hosts]
        own = [(found, host) for found, host in known if found is not None and host.listener == listener]
        own.sort(key=lambda each: -each[0])
        for _, host in own if configuration.falls_through else own[:1]:
            fitting = [each for each in host.routes if each.path in ("/", path)]
            if fitting:
                return max(fitting, key=lambda route: len(route.path)).owner.name
    return None if default is None else default.owner.name


def served_by(table: RouteTable, asked: str, path: str) -> str | None:
    route = route_for(table, asked.encode(), path.encode())
    return None if route is None else route.owner.name


@examples(400)
@given(contents(), ASKED, PATHS)
def test_the_table_agrees_with_a_naive_search(model: RoutingModel, asked: str, path: str) -> None:
    table = compile_routes(model, configuration="web")
    assert served_by(table, asked, path) == naively(model, asked, path)


@examples(100)
@given(contents(), contents(), ASKED, PATHS)
def test_a_table_made_after_another_agrees_as_well(
    before: RoutingModel, model: RoutingModel, asked: str, path: str
) -> None:
    table = compile_routes(model, compile_routes(before, configuration="web"), configuration="web")
    assert served_by(table, asked, path) == naively(model, asked, path)


@examples(200)
@given(contents(), st.integers(0, 15), ASKED, PATHS)
def test_a_table_of_which_one_host_has_changed_agrees_as_well(
    before: RoutingModel, number: int, asked: str, path: str
) -> None:
    assume(before.hosts)
    place = number % len(before.hosts)
    other = msgspec.structs.replace(before.hosts[place], routes=(build.route("/b", ingress="changed"),))
    model = msgspec.structs.replace(before, hosts=(*before.hosts[:place], other, *before.hosts[place + 1 :]))
    table = compile_routes(model, compile_routes(before, configuration="web"), configuration="web")
    assert served_by(table, asked, path) == naively(model, asked, path)


@pytest.mark.parametrize("falls_through", [True, False])
def test_a_changed_host_among_many_takes_as_many_steps_as_among_few(falls_through: bool) -> None:
    def steps(count: int) -> int:
        hosts = tuple(Host(f"h{each}.test", (build.route(),), listener="all") for each in range(count))
        model = RoutingModel(
            route_configurations=(RouteConfiguration(falls_through=falls_through), RouteConfiguration("other")),
            listeners=(Listener("all"),),
            hosts=hosts,
        )
        before = finished(compiling(model, {}))
        other = Host("h1.test", (build.route("/b"),), listener="all")
        return len(list(compiling(msgspec.structs.replace(model, hosts=(hosts[0], other, *hosts[2:])), before)))

    assert steps(300) == steps(3)


def two_configurations() -> RoutingModel:
    """Ingresses on one entry point, and two listeners of a Gateway with the same name of a host on another."""
    gateway = RouteConfiguration("gateway", wildcards=Wildcards.MANY_LABELS, falls_through=True)
    everybody, shop = Listener("everybody", "gateway"), Listener("shop", "gateway", "*.test")
    return RoutingModel(
        entry_points=(
            EntryPoint("http", Protocol.HTTP, 80, "http"),
            EntryPoint("shop", Protocol.HTTP, 8080, "20000", "gateway"),
        ),
        route_configurations=(gateway, RouteConfiguration()),
        listeners=(everybody, Listener(), shop),
        hosts=(
            Host("a.test", (build.route(ingress="everybody"),), configuration="gateway", listener="everybody"),
            Host("a.test", (build.route(ingress="ingress"),)),
            Host("a.test", (build.route("/a", ingress="shop"),), configuration="gateway", listener="shop"),
        ),
    )


def test_each_entry_point_has_the_routes_of_its_configuration() -> None:
    live = LiveTable(lambda _: 0)
    live.swap(build.publication(1, two_configurations()))
    http, shop = live.view.configurations["http"], live.view.configurations["shop"]
    assert served_by(http, "a.test", "/a") == "ingress"
    assert served_by(shop, "a.test", "/a") == "shop"
    assert served_by(shop, "a.test", "/") is None  # another listener has this path, and is not asked
    assert served_by(shop, "elsewhere", "/a") is None


def test_a_configuration_that_stays_keeps_its_table_when_another_changes() -> None:
    model = two_configurations()
    before = finished(compiling(model, {}))
    changed = msgspec.structs.replace(model, hosts=model.hosts[:2])
    after = finished(compiling(changed, before))
    assert after["ingress"] is before["ingress"]
    assert after["gateway"] is not before["gateway"]
    assert after["gateway"].match(b"a.test", b"/a") is None


def test_a_host_of_many_labels_costs_no_more_look_ups_than_the_longest_wildcard() -> None:
    configuration = RouteConfiguration("web", wildcards=Wildcards.MANY_LABELS)
    listener = Listener("web", "web")
    hosts = (Host("*.a.test", (build.route(),), configuration="web", listener="web"),)
    model = RoutingModel(route_configurations=(configuration,), listeners=(listener,), hosts=hosts, entry_points=())
    table = compile_routes(model, configuration="web")
    assert table.match(b"x." * 100 + b"a.test", b"/") is not None
    assert _calls(table, b"x." * 100 + b"b.test") <= _calls(table, b"x.y.b.test")


def _calls(table: RouteTable, host: bytes) -> int:
    """How many calls one match makes, look-ups included."""
    calls = 0

    def count(_frame: object, event: str, _arg: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        table.match(host, b"/")
    finally:
        sys.setprofile(before)
    return calls
