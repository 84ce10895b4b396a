"""Canaries from manifest to wire: the backend is chosen first, and its own zones after it."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from ingress.settings.context import TranslationContext
from tests.fakes.backends import EchoEndpoint, echoing
from tests.integration.in_process import DataPlane, data_plane
from tests.integration.manifests import (
    Document,
    ManifestFolder,
    config_map,
    endpoint_slice,
    ingress,
    ingress_class,
    path,
    rule,
    service,
)
from tests.integration.running import running
from tests.integration.wire import Connection, get

HOST = "shop.test"
PREFIX = "nginx.ingress.kubernetes.io/"


def canary(name: str = "trial", *, to: str = "next", host: str = HOST, **annotations: str) -> Document:
    """A canary of the path `/`; annotations are written with _ for -."""
    said = {PREFIX + key.replace("_", "-"): text for key, text in {"canary": "true", **annotations}.items()}
    return ingress(name, rule(host, path("/", to)), annotations=said)


def cluster(endpoints: Iterable[EchoEndpoint], *documents: Document, **settings: str) -> list[Document]:
    """The Services cart, next and later behind `HOST`, which leads to cart."""
    return [
        ingress_class(),
        config_map(ssl_redirect="false", **settings),
        *map(service, ("cart", "next", "later")),
        *map(endpoint_slice, endpoints),
        ingress("web", rule(HOST, path("/", "cart"))),
        *documents,
    ]


@asynccontextmanager
async def serving(*documents: Document, zone: str = "zone-a", **settings: str) -> AsyncIterator[DataPlane]:
    """A data plane whose main Service has endpoints in two zones, and whose canaries have one each, in zone-b."""
    async with (
        echoing("cart", {"zone-a": 1, "zone-b": 1}) as carts,
        echoing("next", {"zone-b": 1}) as nexts,
        echoing("later", {"zone-b": 1}) as laters,
        data_plane() as plane,
    ):
        found = plane.serve(
            cluster((*carts, *nexts, *laters), *documents, **settings),
            TranslationContext(allow_local_endpoints=True, zone=zone),
        )
        assert [finding for finding in found if finding.reason != "CanaryWithoutMain"] == []
        yield plane


async def answer_of(plane: DataPlane, *fields: str, host: str = HOST) -> str:
    answer = await get(plane.http_port, host, "/", *fields)
    return str(answer.json()["service"]) if answer.status == 200 else str(answer.status)


@pytest.mark.parametrize(
    ("fields", "served"),
    [
        (["X-Try: always"], "next"),
        (["x-try: never", "Cookie: try=always"], "cart"),
        (["X-Try: maybe", "Cookie: a=b; try=always"], "next"),
        (["Cookie: try=never"], "cart"),
        ([], "cart"),
    ],
)
async def test_header_and_cookie_choose_the_backend(fields: list[str], served: str) -> None:
    async with serving(canary(canary_by_header="X-Try", canary_by_cookie="try")) as plane:
        assert await answer_of(plane, *fields) == served


async def test_a_pattern_chooses_the_backend() -> None:
    async with serving(canary(canary_by_header="User-Agent", canary_by_header_pattern="^curl/[0-9]")) as plane:
        assert await answer_of(plane, "User-Agent: curl/8.5") == "next"
        assert await answer_of(plane, "User-Agent: wget") == "cart"


async def test_weights_share_out_requests() -> None:
    trials = canary("a", canary_weight="20"), canary("b", to="later", canary_weight="300", canary_weight_total="1000")
    async with (
        serving(*trials, keep_alive_requests="10000") as plane,
        await Connection.open(plane.http_port) as connection,
    ):
        count = 1500
        served = Counter([(await connection.get(HOST)).json()["service"] for _ in range(count)])
    for name, share in {"next": 0.2, "later": 0.3, "cart": 0.5}.items():
        assert abs(served[name] - count * share) < 4 * (count * share * (1 - share)) ** 0.5


async def test_without_a_main_location_a_canary_is_nothing() -> None:
    async with serving(canary(host="other.test", canary_weight="100")) as plane:
        assert await answer_of(plane, host="other.test") == "404"
        assert await answer_of(plane) == "cart"


async def test_without_endpoints_the_main_backend_serves_for_a_canary_and_nobody_for_the_main_backend() -> None:
    trial = canary(canary_by_header="X-Try")
    context = TranslationContext(allow_local_endpoints=True)
    async with echoing("cart", {"zone-a": 1}) as carts, echoing("next", {"zone-a": 1}) as nexts, data_plane() as plane:
        plane.serve(cluster(carts, trial), context)
        assert await answer_of(plane, "X-Try: always") == "cart"
        plane.serve(cluster(nexts, trial), context)
        assert await answer_of(plane, "X-Try: always") == "503"
        plane.serve(cluster((*carts, *nexts), trial), context)
        assert await answer_of(plane, "X-Try: always") == "next"


@pytest.mark.parametrize("zone", ["zone-a", "zone-b"])
async def test_the_zone_is_decided_after_the_backend(zone: str) -> None:
    """A canary without endpoints in the own zone is served from another, and the main backend stays local meanwhile."""
    async with (
        serving(canary(canary_by_header="X-Try"), zone=zone, zone_aware_routing="true") as plane,
        await Connection.open(plane.http_port) as connection,
    ):
        main = [(await connection.get(HOST)).json()["zone"] for _ in range(6)]
        trial = [(await connection.get(HOST, "/", "X-Try: always")).json()["zone"] for _ in range(6)]
    assert set(main) == {zone}
    assert set(trial) == {"zone-b"}


async def test_both_sides_can_be_compared_by_metrics_and_log(tmp_path: Path) -> None:
    folder = ManifestFolder(tmp_path / "manifests")
    async with echoing("cart", {"zone-a": 1}) as carts, echoing("next", {"zone-b": 1}) as nexts:
        trial = canary(canary_by_header="X-Try")
        folder.write("all.yaml", *cluster((*carts, *nexts), trial, zone_aware_routing="true"))
        async with running(folder.place, "--zone", "zone-a") as zonal:
            for fields in ([], ["X-Try: always"], ["X-Try: always"]):
                assert (await get(zonal.http_port, HOST, "/", *fields)).status == 200
            lines = await zonal.logs(3)
            metrics = await zonal.metrics()
    seen = [(line["ingress"], line["service"], line["reason"]) for line in lines]
    assert seen == [("web", "cart", "zone_local"), *[("trial", "next", "zone_empty")] * 2]
    counted = {
        (sample.labels["ingress"], sample.labels["service"], sample.labels["locality"]): sample.value
        for sample in metrics["zonal_requests"].samples
        if sample.name.endswith("_total")
    }
    assert counted == {("web", "cart", "local"): 1, ("trial", "next", "remote"): 2}
