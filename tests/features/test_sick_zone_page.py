"""Each command of the page about sick zones works while a zone is sick, and tells or does what the page says."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.features.cluster.stage import Stage, becomes, staged
from tests.features.deploying.rendering import ROOT
from tests.features.sick.clients import SickCrowd
from tests.features.sick.endpoints import SickEndpoint
from tests.features.test_kubectl import KUBECTL
from tests.features.test_kubectl_zonal import KubectlZonal
from tests.integration.manifests import endpoint_slice, ingress, ingress_class, path, rule, service
from tests.integration.running import Zonal
from tests.unit.ingress.cli.kubectl.clusters import replica_pod

PAGE = (ROOT / "docs" / "zones.md").read_text(encoding="utf-8")
SECTION = PAGE.partition("\n## When a zone is sick\n")[2].partition("\n## ")[0]
COMMANDS = tuple(dict.fromkeys(re.findall(r"^\$ kubectl (.+)$", SECTION, re.MULTILINE)))
HOST = "shop.example"
FAILING = 0.5  # in turns with good answers, so that no endpoint is ejected for failures in a row
_GET = b"GET / HTTP/1.1\r\nHost: shop.example\r\n\r\n"

TOLD = {
    "zonal top --once": r"shop/cart +zone-a +(leaving|held|returning) +\d",
    "zonal findings --filter ZoneSick": r"Service shop/cart +ZoneSick\n.*requests leave zone-a: ",
    "zonal explain http://shop.example/ --zone zone-a": r"Zone zone-a fails: .* of the requests avoid it",
    "zonal endpoints --service shop/cart --in-zone zone-a": r"zone-a +(ready|ejected)",
    "get events --namespace shop": r"^cart\.",
    "zonal drain zone-a": r"1 of 1 replicas know it",
    "zonal undrain zone-a": r'zone-drain: ""',
}
"""What the output of a command has, where it depends on the sick zone."""

NONE_IS = {"zonal endpoints --in-zone zone-a --state ejected"}
"""Commands that find nothing here and say so by their status, as grep does."""


class _Cart(NamedTuple):
    """A sick endpoint as its slice names it."""

    zone: str
    port: int
    service: str = "cart"


class Scene(NamedTuple):
    stage: Stage
    zonal: Zonal
    kubectl: KubectlZonal
    endpoints: list[SickEndpoint]


@asynccontextmanager
async def sick_shop(place: Path, *arguments: str) -> AsyncIterator[Scene]:
    """A replica in zone-a that leads, three zones, 200 requests a second, and failures in zone-a."""
    async with staged(place) as stage, AsyncExitStack() as stack:
        endpoints = [SickEndpoint(f"zone-{zone}", seconds=0.002) for zone in "aabbcc"]
        for each in endpoints:
            await each.start()
            stack.push_async_callback(each.stop)
        carts = [_Cart(each.zone, each.port) for each in endpoints]
        stage.put(ingress_class(), service("cart"), *map(endpoint_slice, carts))
        stage.put(ingress("web", rule(HOST, path("/", "cart"))))
        stage.settings(
            zone_aware_routing="true", zone_policy="prefer-zone", zone_drain_ramp="1s", ejection_failure_percent="0"
        )
        zonal = await stage.ready("--zone=zone-a", "--update-status=true", *arguments)
        stage.put(replica_pod("zonal-0", zonal.admin_port))
        async with SickCrowd(zonal.http_port, rate=200.0, request=_GET).asking():
            for each in endpoints[:2]:
                each.failing = FAILING
            yield Scene(stage, zonal, KubectlZonal(stage), endpoints)


async def is_told(zonal: Zonal) -> bool:
    return any(finding["reason"] == "ZoneSick" for finding in await zonal.findings())


async def is_not_told(zonal: Zonal) -> bool:
    return not await is_told(zonal)


def test_the_page_has_every_command_that_is_judged_here() -> None:
    assert {*TOLD, *NONE_IS} < {*COMMANDS}


@pytest.mark.slow
@pytest.mark.skipif(not KUBECTL.exists(), reason="kubectl is not installed beside Python")
async def test_every_command_of_the_page_does_what_it_says(tmp_path: Path) -> None:
    async with sick_shop(tmp_path) as scene:
        await becomes(lambda: is_told(scene.zonal))
        await becomes(lambda: _has_event(scene.kubectl))
        for command in COMMANDS:
            output = await scene.kubectl(*shlex.split(command), status=1 if command in NONE_IS else 0)
            assert re.search(TOLD.get(command, ""), output, re.MULTILINE), (command, output)
        settings = await scene.kubectl("get", "configmap", "zonal", "--namespace", "zonal", "-o", "yaml")
        assert "zone-evacuation: dry-run" in settings


@pytest.mark.slow
@pytest.mark.skipif(not KUBECTL.exists(), reason="kubectl is not installed beside Python")
async def test_what_the_page_forbids_ends_the_finding_and_the_event_says_so(tmp_path: Path) -> None:
    forbid = next(command for command in COMMANDS if command.startswith("annotate service") and "=false" in command)
    async with sick_shop(tmp_path) as scene:
        await becomes(lambda: is_told(scene.zonal))
        await becomes(lambda: _has_event(scene.kubectl))
        await scene.kubectl(*shlex.split(forbid))
        await becomes(lambda: is_not_told(scene.zonal))
        await becomes(lambda: _has_event(scene.kubectl, kind="Normal"))


@pytest.mark.slow
@pytest.mark.skipif(not KUBECTL.exists(), reason="kubectl is not installed beside Python")
async def test_of_several_workers_there_is_one_finding_one_line_and_one_event_at_each_end(tmp_path: Path) -> None:
    async with sick_shop(tmp_path, "--workers=2") as scene:
        await becomes(lambda: is_told(scene.zonal))
        await becomes(lambda: _has_event(scene.kubectl))
        for each in scene.endpoints:
            each.failing = 0.0
        await becomes(lambda: is_not_told(scene.zonal))
        await becomes(lambda: _has_event(scene.kubectl, kind="Normal"))
        lines = [line for line in scene.zonal.stderr.splitlines() if "finding_log" in line and "ZoneSick" in line]
        assert [line.split("finding_log: ")[1].split(":")[0] for line in lines] == ["degraded", "resolved"]
        (cart,) = json.loads(await scene.kubectl("zonal", "top", "--once", "-o", "json"))["services"]
        assert not [zone for zone in cart["sick_zones"] if zone.get("is_left")]


async def _has_event(kubectl: KubectlZonal, *, kind: str = "Warning") -> bool:
    told = json.loads(await kubectl("get", "events", "--namespace", "shop", "-o", "json"))
    return [(each["type"], each["reason"]) for each in told["items"]].count((kind, "ZoneSick")) == 1
