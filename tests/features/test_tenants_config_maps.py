"""A tenant who names more ConfigMaps than zonal follows closes paths of its own, and of nobody else."""

from __future__ import annotations

from pathlib import Path

from tests.fakes.apiserver import ApiServer
from tests.fakes.sockets import until
from tests.features.cluster.stage import becomes
from tests.integration.manifests import Document, config_map, ingress, path, rule
from tests.integration.test_cluster import backend, fill, process
from tests.integration.wire import get

FOLLOWED = 100


def naming(number: int, *, namespace: str = "aaa") -> Document:
    """An Ingress that names a ConfigMap of its own namespace, which need not exist."""
    name = f"fields-{number:03}"
    host = rule(f"{name}.{namespace}.test", path("/", "cart"))
    return ingress(name, host, namespace=namespace, annotations=headers(f"{namespace}/{name}"))


def headers(name: str) -> dict[str, str]:
    return {"nginx.ingress.kubernetes.io/custom-headers": name}


async def test_a_tenant_who_names_too_many_config_maps_closes_none_of_another(tmp_path: Path) -> None:
    async with ApiServer() as server, backend() as endpoint:
        server.put(config_map(global_allowed_response_headers="X-Team"))
        for number in range(FOLLOWED + 20):
            server.put(naming(number))
        fill(server, endpoint)
        async with process(server, tmp_path) as zonal:
            await until(lambda: server.open_watches >= FOLLOWED)
            extra = config_map(X_Team="shop")
            extra["metadata"] |= {"namespace": "shop", "name": "team"}
            server.put(extra)
            server.put(ingress("web", rule("shop.test", path("/", "cart")), annotations=headers("shop/team")))

            async def serves() -> bool:
                answer = await get(zonal.http_port, "shop.test")
                return (answer.status, answer.field("x-team")) == (200, "shop")

            await becomes(serves)
            refused = [each for each in await zonal.findings() if each["reason"] == "ConfigMapNotFollowed"]
            assert {each["namespace"] for each in refused} == {"aaa"}
