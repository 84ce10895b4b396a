"""What is remembered of routes: unchanged ones are the same objects, and nothing changes the result."""

from __future__ import annotations

import random
from collections.abc import Sequence

import msgspec
import pytest

from ingress.objects.gateway_routes import GatewayRoute, HttpRoute
from ingress.objects.kinds import KubernetesObject, ServicePort, key_of
from ingress.settings.context import TranslationContext
from ingress.sources.events import Removed, Upserted
from ingress.sources.inventory import Inventory
from ingress.translation.assembly import Memories, Translation, translate
from ingress.translation.gateway.grants import NO_GRANTS, Grants
from ingress.translation.gateway.memory import GatewayMemory, Kept, SameObjects
from ingress.translation.gateway.namespaces import NamespaceLabels
from ingress.translation.gateway.route_reading import NO_ROOM, ReadRoute, RouteSurroundings, read_route
from ingress.translation.memory import InventoryView
from tests.unit.ingress.cluster import inventory, service, tls_secret
from tests.unit.ingress.translation.gateway.objects import (
    OWNER,
    gateway,
    gateway_class,
    grant,
    http_route,
    listener,
    listener_set,
    namespace,
    policy,
    read_one,
)
from tests.unit.ingress.translation.gateway.test_zone_policies import zone_policy

CONTEXT = TranslationContext(allow_local_endpoints=True, gateway_ports=((80, "80"), (8080, "8080")))
ALL = {"namespaces": {"from": "All"}}
CERTIFICATE = {"certificateRefs": [{"name": "cert", "namespace": "shop"}]}
WEB, OTHER = (service(name, ServicePort(80, "http"), namespace="infra") for name in ("web", "other"))
PLAIN = http_route("plain", hostnames=["plain.test"])


def test_what_was_given_the_same_is_the_same_object_until_nobody_asks() -> None:
    kept = Kept()
    one: list[int] = kept.of("a", (1,), list)
    kept.begin()
    assert kept.of("a", (1,), list) is one
    assert kept.of("a", (2,), list) is not one
    kept.begin()
    kept.begin()
    assert kept.of("a", (2,), list) is not one


def test_of_the_same_object_the_same_is_made() -> None:
    same: SameObjects[str, list[str]] = SameObjects()
    items = ["".join(("a", "b")), "".join(("a", "b"))]
    first = same.of_each(items, lambda each: [each])
    same.begin()
    second = same.of_each([items[0], "".join(("a", "b"))], lambda each: [each])
    assert (second[0] is first[0], second[1] is first[1]) == (True, False)
    same.begin()
    same.forget()
    assert same.of_each(items, lambda each: [each])[0] is not first[0]


def test_equal_values_that_many_share_become_one() -> None:
    memory = GatewayMemory()
    first = memory.one("x", [1])
    assert memory.one("x", [1]) is first
    assert memory.one("x", [2]) == [2]


def test_a_changed_grant_concerns_only_routes_that_refer_to_other_namespaces() -> None:
    backend = {"name": "web", "namespace": "shop", "port": 80}
    routes = (PLAIN, http_route("far", rules=[{"backendRefs": [backend]}]))
    known, memory, read = inventory(*routes), GatewayMemory(), list[str]()

    def note(route: GatewayRoute, around: RouteSurroundings, inventory: Inventory) -> ReadRoute:
        read.append(route.metadata.name)
        return read_route(route, around, inventory)

    for grants in (NO_GRANTS, Grants(inventory(grant()))):
        memory.begin(InventoryView(known))
        around = RouteSurroundings({}, NamespaceLabels(known), grants)
        shared = [memory.one(name, each) for name, each in (("around", around), ("near", around.near))]
        memory.reads(HttpRoute, routes, shared[0], shared[1], note)
    assert read == ["plain", "far", "far"]


def test_a_route_whose_status_we_wrote_is_not_read_again() -> None:
    known, memory, read = inventory(PLAIN), GatewayMemory(), list[str]()

    def note(route: GatewayRoute, around: RouteSurroundings, inventory: Inventory) -> ReadRoute:
        read.append(route.metadata.resource_version)
        return read_route(route, around, inventory)

    written = msgspec.structs.replace(PLAIN.metadata, resource_version="2", finalizers=("someone.test/waits",))
    changed = msgspec.structs.replace(PLAIN.metadata, resource_version="3", annotations={"a": "b"})
    for metadata in (PLAIN.metadata, written, changed):
        known.apply(Upserted(msgspec.structs.replace(PLAIN, metadata=metadata, status=msgspec.Raw(b"{}"))))
        memory.begin(InventoryView(known))
        around = memory.one("around", RouteSurroundings({}, NamespaceLabels(known), NO_GRANTS))
        memory.reads(HttpRoute, tuple(known.of(HttpRoute)), around, around, note)
    assert read == ["", "3"]


def translated(known: Inventory, memories: Memories | None = None) -> Translation:
    return translate(known, CONTEXT, memories=memories)


def test_a_changed_route_leaves_the_others_as_they_are() -> None:
    known = inventory(gateway_class(), gateway(), WEB, OTHER, PLAIN, http_route("second", hostnames=["second.test"]))
    memories = Memories()
    before = translated(known, memories).model
    known.apply(Upserted(http_route("second", to="other", hostnames=["second.test"])))
    after = translated(known, memories).model
    hosts = [{each.name: each for each in model.hosts} for model in (before, after)]
    assert hosts[0]["plain.test"] is hosts[1]["plain.test"]
    assert hosts[0]["second.test"] != hosts[1]["second.test"]


_CHANGES: Sequence[KubernetesObject] = (
    gateway(listener(allowedRoutes=ALL), listener("more", 8080)),
    gateway(listener(hostname="*.test", allowedRoutes=ALL)),
    gateway(listener(), defaultScope="All"),
    listener_set(listener("extra", 8080, hostname="extra.test"), namespace="shop"),
    http_route("plain", hostnames=["plain.test"], rules=[{"matches": [{"path": {"value": "/a"}}]}]),
    http_route("plain", hostnames=["plain.test", "b.test"], to="other"),
    http_route("foreign", namespace="shop", hostnames=["plain.test"]),
    http_route("crossing", rules=[{"backendRefs": [{"name": "there", "namespace": "shop", "port": 80}]}]),
    http_route("unattached", useDefaultGateways="All", parentRefs=[]),
    service("web", ServicePort(80, "http"), ServicePort(81, "more"), namespace="infra"),
    service("there", ServicePort(80, "http")),
    grant(),
    grant(name="nothing"),
    gateway(listener(allowedRoutes=ALL), listener("more", 8080, "HTTPS", tls=CERTIFICATE), allowedListeners=ALL),
    gateway(allowedListeners={"namespaces": {"from": "Selector", "selector": {"matchLabels": {"team": "a"}}}}),
    grant("Gateway", to="Secret"),
    tls_secret("cert", b"none", b"none"),
    namespace("shop", team="a"),
    policy(),
    zone_policy("Gateway", "gw", "http", defaults={"policy": "hints"}),
    zone_policy("HTTPRoute", "plain", called="of-route", defaults={"policy": "off"}),
)


@pytest.mark.parametrize("seed", range(6))
def test_after_any_changes_a_translation_with_memories_is_that_without(seed: int) -> None:
    """Objects come, change and go in any order, several between two translations or none."""
    chance = random.Random(seed)
    known = inventory(gateway_class(), gateway(listener(allowedRoutes=ALL)), WEB, OTHER, PLAIN)
    memories = Memories()
    for _ in range(25):
        for change in chance.choices(_CHANGES, k=chance.randrange(3)):
            present = any(key_of(each) == key_of(change) for each in known.of(type(change)))
            if present and chance.random() < 0.4:
                known.apply(Removed(change.kind, *key_of(change)))
            else:
                known.apply(Upserted(change))
        remembered, anew = translated(known, memories), translated(known)
        assert remembered.model == anew.model
        assert msgspec.to_builtins(remembered.standings) == msgspec.to_builtins(anew.standings)
        assert set(remembered.findings) == set(anew.findings)
        assert remembered.services == anew.services


@pytest.mark.parametrize("seed", range(6))
def test_in_whatever_order_versions_of_objects_come_the_end_is_the_same(seed: int) -> None:
    """Each object has some older versions before its last one, and somebody looks now and then."""
    chance = random.Random(seed)
    first: Sequence[KubernetesObject] = (gateway_class(), gateway(listener(allowedRoutes=ALL)), WEB, OTHER, PLAIN)
    versions: dict[tuple[object, ...], list[KubernetesObject]] = {}
    for each in (*first, *_CHANGES):
        versions.setdefault((each.kind, *key_of(each)), []).append(each)
    for told in versions.values():
        chance.shuffle(told)
    ends = [told[-1] for told in versions.values()]
    expected = translated(inventory(*ends))

    known, memories = inventory(), Memories()
    while versions:
        place = chance.choice(list(versions))
        known.apply(Upserted(versions[place].pop(0)))
        if not versions[place]:
            del versions[place]
        if chance.random() < 0.3:
            translated(known, memories)
    found = translated(known, memories)
    assert found.model == expected.model
    assert msgspec.to_builtins(found.standings) == msgspec.to_builtins(expected.standings)
    assert set(found.findings) == set(expected.findings)


def test_for_hostnames_of_a_greedy_namespace_there_is_no_room_before_they_are_read() -> None:
    """The modest route is the youngest. The counts of routes that stay are not made again."""
    greedy = [
        http_route(f"g{number}", namespace="greedy", hostnames=[f"{each}.g{number}.test" for each in range(3)])
        for number in range(3)
    ]
    modest = http_route("modest", namespace="shop", hostnames=["shop.test"])
    routes = (*greedy, modest)
    known, memory = inventory(*routes), GatewayMemory()
    around = RouteSurroundings({OWNER: (read_one(allowedRoutes=ALL),)}, NamespaceLabels(known), NO_GRANTS)
    reads = list[dict[str, ReadRoute]]()
    for _ in range(2):
        memory.begin(InventoryView(known))
        shared, near = memory.one("around", around), memory.one("near", around.near)
        assert memory.crowd(routes, shared, most=10) == {}
        crowd = memory.crowd(routes, shared, most=8)
        assert crowd == {id(greedy[2]): NO_ROOM}
        found = memory.reads(HttpRoute, routes, shared, near, read_route, crowd=crowd)
        reads.append({each.route.metadata.name: each for each in found})
    assert reads[0]["g2"].parents[0].refused is NO_ROOM
    assert [len(reads[0][name].facts.names) for name in ("g0", "g1", "g2", "modest")] == [3, 3, 0, 1]
    assert all(reads[1][name] is each for name, each in reads[0].items())
