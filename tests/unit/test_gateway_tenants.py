"""Objects of Gateway API that a hostile tenant writes cost no more than their number, and take nothing from others.

Counted in bytecode instructions of our own code, which no other work on the machine changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import msgspec
import pytest

from balancer.matching.routing import compile_routes
from ingress.objects.kinds import KubernetesObject, Metadata
from ingress.settings.context import TranslationContext
from ingress.translation.assembly import Translation, translate
from ingress.translation.gateway.attaching import NAMES_MOST
from tests.unit.ingress.cluster import config_map, inventory, service
from tests.unit.ingress.translation.gateway.objects import (
    gateway,
    gateway_class,
    http_route,
    listener,
    listener_set,
    policy,
    read,
)
from tests.unit.test_gateway_costs import instructions

_LINEAR = 2.3  # so much more may twice as many objects cost
_TO_ALL = {"namespaces": {"from": "All"}}
_CONTEXT = TranslationContext(gateway_ports=((80, "18080"),), one_namespace_per_hostname=True)
_FEW = 16


def translated(objects: Iterable[KubernetesObject]) -> Translation:
    known = (gateway_class(), config_map(), service("web", namespace="infra"), *objects)
    return translate(inventory(*known), _CONTEXT)


def names(count: int) -> list[KubernetesObject]:
    """Routes of another namespace with 16 hostnames each, where a hostname belongs to one namespace."""
    return [
        gateway(listener(allowedRoutes=_TO_ALL)),
        *(route(f"r{each}", *(f"a{number}.b{each}.test" for number in range(16))) for each in range(count)),
    ]


def policies(count: int) -> list[KubernetesObject]:
    """Policies for as many Services, which routes name."""
    of_services = [
        (service(f"s{each}", namespace="infra"), http_route(f"r{each}", to=f"s{each}", **to_gateway(f"b{each}.test")))
        for each in range(count)
    ]
    named = [policy(f"p{each}", target=f"s{each}") for each in range(count)]
    return [gateway(), *named, *(item for pair in of_services for item in pair)]


def sets(count: int) -> list[KubernetesObject]:
    """ListenerSets with 16 listeners each."""
    of_sets = (
        listener_set(
            *(listener(f"l{number}", hostname=f"a{number}.s{each}.test") for number in range(16)), name=f"s{each}"
        )
        for each in range(count)
    )
    return [gateway(allowedListeners=_TO_ALL), *of_sets]


def everywhere(count: int) -> list[KubernetesObject]:
    """Routes that are attached to each of 16 listeners."""
    listeners = (listener(f"l{number}", hostname=f"*.a{number}.test") for number in range(16))
    return [gateway(*listeners), *(http_route(f"r{each}", **to_gateway("*.test")) for each in range(count))]


def grants(count: int) -> list[KubernetesObject]:
    """Grants for 16 namespaces and 16 Services each."""
    sources = [
        {"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "namespace": f"n{number}"} for number in range(16)
    ]
    said: dict[str, Any] = {
        "from": sources,
        "to": [{"group": "", "kind": "Service", "name": f"s{n}"} for n in range(16)],
    }
    return [gateway(), *(read("ReferenceGrant", f"g{each}", **said) for each in range(count))]


def passing(count: int) -> list[KubernetesObject]:
    """A TLSRoute with as many hostnames as it may have."""
    tls = listener("tls", 80, "TLS", tls={"mode": "Passthrough"}, hostname="*.test")
    hostnames = [f"a{number}.test" for number in range(64 * count)]
    backends = [{"backendRefs": [{"name": "web", "port": 80}]}]
    parents = [{"name": "gw", "namespace": "infra"}]
    return [gateway(tls), read("TLSRoute", "tls", parentRefs=parents, hostnames=hostnames, rules=backends)]


def expressions(count: int) -> list[KubernetesObject]:
    """Routes with expressions of every kind for one hostname."""
    values = [{"name": "a", "type": "RegularExpression", "value": "a.*"}]
    matches = [
        [
            {"path": {"type": "RegularExpression", "value": f"/a{each}/.*"}, "headers": values},
            {"path": {"type": "RegularExpression", "value": f"/b{each}(a|b)*c"}, "queryParams": values},
        ]
        for each in range(8 * count)
    ]
    backends = [{"name": "web", "port": 80}]
    routes = (
        http_route(f"r{number}", rules=[{"matches": each, "backendRefs": backends}], hostnames=["a.test"])
        for number, each in enumerate(matches)
    )
    return [gateway(), *routes]


def to_gateway(*hostnames: str) -> dict[str, Any]:
    return {"parentRefs": [{"name": "gw", "namespace": "infra"}], "hostnames": list(hostnames)}


def route(name: str, *hostnames: str, namespace: str = "evil", year: int = 2021, parent: str = "Gateway") -> Any:
    parents = [{"kind": parent, "name": "gw" if parent == "Gateway" else "extra", "namespace": "infra"}]
    if parent != "Gateway":
        parents[0]["namespace"] = namespace
    created = f"{year}-01-01T00:00:00Z"
    return read("HTTPRoute", name, namespace=namespace, created=created, parentRefs=parents, hostnames=hostnames)


def accepted(found: Translation, name: str) -> tuple[str, str]:
    (standing,) = [each for each in found.standings if (each.kind, each.name) == ("HTTPRoute", name)]
    (entry,) = standing.status.parents  # type: ignore[union-attr]
    (said,) = [each for each in entry.conditions if each.type == "Accepted"]
    return said.status, said.reason


@pytest.mark.parametrize(
    "objects",
    [names, policies, sets, everywhere, grants, passing, expressions],
    ids=lambda make: make.__name__,
)
def test_twice_as_many_objects_cost_twice_as_much(objects: Callable[[int], list[KubernetesObject]]) -> None:
    few, many = (instructions(partial(translated, objects(count))).total() for count in (_FEW, 2 * _FEW))
    assert many <= _LINEAR * few


def test_a_route_has_no_more_names_than_one_may_have() -> None:
    """16 names that are deep enough belong to each of 64 listeners, and a route may name many Gateways."""
    listeners = [listener(f"l{number}", hostname=f"*.{'x.' * number}test") for number in range(64)]
    gateways = [gateway(*listeners, name=f"gw{each}") for each in range(NAMES_MOST // (16 * 64) + 1)]
    deep = [f"a{number}.{'x.' * 64}test" for number in range(16)]
    parents = [{"name": each.metadata.name, "namespace": "infra"} for each in gateways]
    modest = read("HTTPRoute", "modest", parentRefs=parents[:1], hostnames=["a.x.test"])
    found = translated([*gateways, read("HTTPRoute", "greedy", parentRefs=parents, hostnames=deep), modest])
    (standing,) = [each for each in found.standings if each.name == "greedy"]
    said = [each for entry in standing.status.parents for each in entry.conditions]  # type: ignore[union-attr]
    assert {each.reason for each in said if each.type == "Accepted"} == {"UnsupportedValue"}
    assert accepted(found, "modest") == ("True", "Accepted")
    assert {each.name for each in found.model.hosts if each.name} == {"a.x.test"}


def test_a_listener_set_takes_no_hostname_of_another_namespace() -> None:
    """Its listener is nearer to the name than the one that the name was claimed on."""
    owner = gateway(listener(hostname="*.test", allowedRoutes=_TO_ALL), allowedListeners=_TO_ALL)
    thief = listener_set(listener("near", hostname="shop.test"), namespace="evil")
    mine = route("mine", "shop.test", namespace="shop", year=2020)
    found = translated([owner, thief, mine, route("theft", "shop.test", parent="ListenerSet")])
    assert accepted(found, "mine") == ("True", "Accepted")
    assert accepted(found, "theft") == ("False", "NotAllowedByListeners")
    served = compile_routes(found.model, configuration="gateway:80").match(b"shop.test", b"/")
    assert served is not None and served.served.route.owner.namespace == "shop"
    alone = translated([owner, thief, route("first", "shop.test", parent="ListenerSet")])
    assert accepted(alone, "first") == ("True", "Accepted")


def test_what_lies_in_another_namespace_looks_the_same_whether_it_exists_or_not() -> None:
    """Without a grant neither a Service nor a certificate, nor its absence, shows in a status."""

    def told(*there: KubernetesObject) -> list[Any]:
        backends = [{"name": "secret", "namespace": "shop", "port": 80}]
        asking = read(
            "HTTPRoute", "r", namespace="evil", parentRefs=[{"name": "gw", "namespace": "evil"}],
            rules=[{"backendRefs": backends}],
        )  # fmt: skip
        certificate = {"certificateRefs": [{"name": "key", "namespace": "shop"}]}
        own = gateway(listener(), listener("tls", 80, "HTTPS", tls=certificate), namespace="evil")
        return [each for each in translated([own, asking, *there]).standings if each.kind != "GatewayClass"]

    assert told() == told(service("secret", namespace="shop"))


def test_a_policy_protects_services_of_its_own_namespace_alone() -> None:
    """The Service of the same name elsewhere is spoken to as before, though no authority of the policy exists."""
    objects: list[KubernetesObject] = [
        gateway(listener(allowedRoutes=_TO_ALL)),
        http_route("r", **to_gateway("a.test")),
    ]
    foreign = msgspec.structs.replace(policy(), metadata=Metadata("policy", "evil"))
    assert translated([*objects, foreign]).model == translated(objects).model
    assert translated([*objects, policy()]).model != translated(objects).model
