"""A tenant whose routes compile more conditions than all may have refuses no route of another tenant."""

from __future__ import annotations

import pytest

from balancer.connections.listeners import listen, port_of
from ingress.settings.context import TranslationContext
from ingress.translation.gateway.condition_bounds import CONDITIONS_MOST
from tests.fakes.backends import EchoEndpoint, echoing
from tests.integration.in_process import data_plane
from tests.integration.manifests import Document, endpoint_slice, service
from tests.integration.wire import get

pytestmark = pytest.mark.faults

_API = "gateway.networking.k8s.io/v1"
_SOCKET = "gateway-80"
_NAMES, _MATCHES, _PAIRS = 16, 64, 16  # the most that the API takes: names, matches of a rule, fields, parameters
_RULES = 2
_OF_A_ROUTE = _NAMES * _RULES * _MATCHES * (2 + 2 * _PAIRS)
_FIELDS = [f"X-{number}: 1" for number in range(_PAIRS)]
_QUERY = "&".join(f"q{number}=1" for number in range(_PAIRS))


def thing(kind: str, name: str, namespace: str = "", *, year: int = 2020, **spec: object) -> Document:
    metadata = {"name": name, "creationTimestamp": f"{year}-01-01T00:00:00Z", "generation": 1}
    if namespace:
        metadata["namespace"] = namespace
    return {"apiVersion": _API, "kind": kind, "metadata": metadata, "spec": spec}


def match(number: int) -> Document:
    return {
        "path": {"type": "PathPrefix", "value": f"/{number}"},
        "method": "GET",
        "headers": [{"name": f"x-{each}", "value": "1"} for each in range(_PAIRS)],
        "queryParams": [{"name": f"q{each}", "value": "1"} for each in range(_PAIRS)],
    }


def route(namespace: str, name: str, *, year: int) -> Document:
    """A route with as many conditions as one can have on one listener."""
    rules = [
        {
            "matches": [match(rule * _MATCHES + number) for number in range(_MATCHES)],
            "backendRefs": [{"name": "app", "port": 80}],
        }
        for rule in range(_RULES)
    ]
    parents = [{"name": "shared", "namespace": "infra"}]
    hostnames = [f"h{number}.{name}.test" for number in range(_NAMES)]
    return thing("HTTPRoute", name, namespace, year=year, parentRefs=parents, hostnames=hostnames, rules=rules)


def cluster(endpoint: EchoEndpoint, *routes: Document) -> list[Document]:
    everybody = {"namespaces": {"from": "All"}}
    http = {"name": "http", "port": 80, "protocol": "HTTP", "allowedRoutes": everybody}
    slices = [endpoint_slice(endpoint, namespace=name) for name in ("greedy", "modest")]
    return [
        thing("GatewayClass", "zonal", controllerName="zonal-ingress.io/controller"),
        thing("Gateway", "shared", "infra", gatewayClassName="zonal", listeners=[http]),
        *(service("app", namespace=name) for name in ("greedy", "modest")),
        *slices,
        *routes,
    ]


async def test_the_youngest_routes_of_the_greedy_tenant_give_way_and_no_other() -> None:
    count = CONDITIONS_MOST // _OF_A_ROUTE
    assert 2 < count < 50
    names = [f"g{number}" for number in range(count)]
    routes = [route("greedy", name, year=2000 + number) for number, name in enumerate(names)]
    context = TranslationContext(allow_local_endpoints=True, gateway_ports=((80, _SOCKET),))
    async with data_plane() as plane, echoing("app", {"zone-a": 1}) as (endpoint,):
        listener = listen("127.0.0.1", 0)
        await plane.worker.listen({_SOCKET: listener})
        port = port_of(listener)

        async def asked(name: str) -> int:
            target = f"/{_RULES * _MATCHES - 1}?{_QUERY}"
            return (await get(port, f"h{_NAMES - 1}.{name}.test", target, *_FIELDS)).status

        plane.serve(cluster(endpoint, *routes), context)
        assert {name: await asked(name) for name in (names[0], names[-1])} == {names[0]: 200, names[-1]: 200}
        found = plane.serve(cluster(endpoint, *routes, route("modest", "young", year=2100)), context)
        assert {(each.namespace, each.name) for each in found if "conditions" in each.message} == {
            ("greedy", names[-1])
        }
        assert [await asked(name) for name in ("young", names[0], names[-2])] == [200, 200, 200]
        assert await asked(names[-1]) != 200
