"""A Service whose endpoints lead back to zonal: a request goes round a few times, and no more."""

from __future__ import annotations

from pathlib import Path

import pytest

from balancer.http.looping import PASSES_MOST
from tests.features.cluster.stage import HOST, TARGET, Stage, answers, staged, status_of
from tests.integration.manifests import Document, ingress, path, rule, service
from tests.integration.running import Zonal, until
from tests.integration.wire import get

pytestmark = pytest.mark.faults

_LOOP = "loop.test"


def _back_to(zonal: Zonal) -> Document:
    """An endpoint that is zonal itself."""
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": "back", "namespace": "shop", "labels": {"kubernetes.io/service-name": "back"}},
        "addressType": "IPv4",
        "ports": [{"name": "http", "port": zonal.http_port}],
        "endpoints": [{"addresses": ["127.0.0.1"], "conditions": {"ready": True}}],
    }


async def _leads_back(stage: Stage) -> Zonal:
    await stage.shop()
    zonal = await stage.ready()
    stage.put(service("back"), _back_to(zonal))
    stage.put(ingress("loop", rule(_LOOP, path("/", "back"))))
    await answers(zonal, 508, _LOOP, "/")
    return zonal


def _lines_of(zonal: Zonal, target: str) -> list[str]:
    return [line for line in zonal.access_lines if f'"{target}"' in line]


async def test_a_request_that_comes_back_is_refused_after_some_rounds(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage:
        zonal = await _leads_back(stage)
        assert await status_of(zonal, _LOOP, "/once") == 508
        await until(lambda: len(_lines_of(zonal, "/once")) == PASSES_MOST, seconds=60.0)
        assert await status_of(zonal, _LOOP, "/again") == 508
        await until(lambda: any('"error":"loop"' in line for line in zonal.access_lines), seconds=60.0)
        errors = (await zonal.metrics())["zonal_errors"].samples
        assert [each.value for each in errors if each.labels["kind"] == "loop"] != []
        assert await status_of(zonal) == 200  # nobody else is refused


async def test_the_field_of_one_client_refuses_its_own_request_alone(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage:
        await stage.shop()
        zonal = await stage.ready()
        marks = ", ".join(["zonal"] * PASSES_MOST)
        assert (await get(zonal.http_port, HOST, TARGET, f"CDN-Loop: {marks}")).status == 508
        assert (await get(zonal.http_port, HOST, TARGET, f"CDN-Loop: {marks[7:]}")).status == 200
        assert await status_of(zonal) == 200
