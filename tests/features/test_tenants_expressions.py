"""A tenant whose expressions are made to cost much, and a client who knows, slow nobody else on the same host."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import pytest

from balancer.connections.listeners import listen, port_of
from balancer.model.routes import SEARCHED_BYTES_WIDE
from ingress.settings.context import TranslationContext
from tests.fakes.backends import echoing
from tests.fakes.clients import RawClient
from tests.fakes.endpoints import ScriptedEndpoint
from tests.features.faults.load import HOST, Ledger, Load, honest
from tests.features.tenants.neighbours import Tenant, assert_unharmed, in_one_of_three, neighbours
from tests.features.test_tenants_conditions import cluster, thing
from tests.integration.in_process import data_plane
from tests.integration.manifests import Document, ingress, path, rule
from tests.integration.running import Zonal
from tests.integration.wire import get

pytestmark = pytest.mark.faults

_USE_REGEX = {"nginx.ingress.kubernetes.io/use-regex": "true"}
_PATHS = [path(f"/g(a|b)*a(a|b){{40}}{number}", "app", kind="ImplementationSpecific") for number in range(8)]
_COSTLY = ingress("costly", rule(HOST, *_PATHS), namespace="greedy", annotations=_USE_REGEX)


async def costly_paths(zonal: Zonal, *, rate: int, seconds: float) -> set[int]:
    """Asks for paths that were made for the expressions, as long as a head may be. Returns the statuses."""
    chance, statuses = random.Random(1), set()
    for _ in range(int(rate * seconds)):
        text = bytes(chance.choice(b"ab") for _ in range(7900))
        async with RawClient(zonal.http_port) as client:
            response = await client.ask(b"GET /g%b HTTP/1.1\r\nHost: %b\r\n\r\n" % (text, HOST.encode()))
        statuses.add(response.status)
        await asyncio.sleep(1 / rate)
    return statuses


@in_one_of_three
async def test_a_path_made_for_costly_expressions_delays_nobody(tmp_path: Path, judge_times: bool) -> None:
    ledger = Ledger()
    async with (
        ScriptedEndpoint(honest(ledger)) as endpoint,
        neighbours(tmp_path, Tenant("greedy", [endpoint], objects=[_COSTLY]), Tenant("modest", [endpoint])) as zonal,
    ):
        alone, beside = Load(zonal.http_port, prefix="/modest"), Load(zonal.http_port, prefix="/modest")
        await alone.steady(rate=50, seconds=1.0)
        statuses, _ = await asyncio.gather(
            costly_paths(zonal, rate=30, seconds=2.0), beside.steady(rate=50, seconds=2.0)
        )
    assert_unharmed(beside, alone, judge_times)
    assert statuses <= {414, 503}


def _route(namespace: str, name: str, expression: str, *, year: int) -> Document:
    rules = [
        {
            "matches": [{"path": {"type": "RegularExpression", "value": expression}}],
            "backendRefs": [{"name": "app", "port": 80}],
        }
    ]
    parents = [{"name": "shared", "namespace": "infra"}]
    return thing("HTTPRoute", name, namespace, year=year, parentRefs=parents, hostnames=[HOST], rules=rules)


async def test_of_routes_with_costly_expressions_the_youngest_of_the_greedy_tenant_give_way() -> None:
    """All of them are for one hostname. Who is at the bound changes nothing for the other tenant, who comes last."""
    greedy = [_route("greedy", f"g{n}", f"/g{n}(a|b)*a(a|b){{30}}|/g{n}", year=2000 + n) for n in range(8)]
    modest = _route("modest", "young", "/m(a|b)*[0-9]{0,20}c|/m", year=2100)
    context = TranslationContext(allow_local_endpoints=True, gateway_ports=((80, "gateway-80"),))
    async with data_plane() as plane, echoing("app", {"zone-a": 1}) as (endpoint,):
        listener = listen("127.0.0.1", 0)
        await plane.worker.listen({"gateway-80": listener})

        async def asked(target: str) -> int:
            return (await get(port_of(listener), HOST, target)).status

        found = plane.serve(cluster(endpoint, *greedy, modest), context)
        refused = {each.name for each in found if "begin alike" in each.message}
        assert "g7" in refused
        assert not {"g0", "young"} & refused
        assert [await asked(target) for target in ("/g0", "/m", "/mabc", "/g7")] == [200, 200, 200, 404]
        long = "/m" + "a" * SEARCHED_BYTES_WIDE
        assert [await asked(target) for target in (f"{long}c", long, f"/m{'a' * 7000}c")] == [200, 404, 414]
