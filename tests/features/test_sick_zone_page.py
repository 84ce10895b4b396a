"""Each command of the page about sick zones works while a zone is sick, and tells or does what the page says."""

from __future__ import annotations

import asyncio
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
from tests.integration.manifests import Document, endpoint_slice, ingress, ingress_class, path, rule, service
from tests.integration.running import Zonal
from tests.unit.ingress.cli.kubectl.clusters import replica_pod

PAGE = (ROOT / "docs" / "zones.md").read_text(encoding="utf-8")
SECTION = PAGE.partition("\n## When a zone is sick\n")[2].partition("\n## ")[0]
COMMANDS = tuple(dict.fromkeys(re.findall(r"^\$ kubectl (.+)$", SECTION, re.MULTILINE)))
FORCE = next(command for command in COMMANDS if command.endswith("zone-evacuation=true --overwrite"))
FORBID = tuple(command for command in COMMANDS if re.search(r"zone-evacuation(=|\":\")false", command))
DRY_RUN = next(command for command in COMMANDS if "dry-run" in command)
KEEP_ENDPOINTS = next(command for command in COMMANDS if "ejection-failure-percent=0" in command)
UNDO = tuple(command for command in COMMANDS if re.search(r"zone-evacuation(-$|\":null)", command))
TOP, FINDINGS = "zonal top --once", "zonal findings --filter ZoneSick"
HOST = "shop.example"
WATCHED = 200  # requests in a row that show where they go
FAILING = 0.5  # in turns with good answers, so that no endpoint is ejected for failures in a row
_GET = b"GET / HTTP/1.1\r\nHost: shop.example\r\n\r\n"

pytestmark = pytest.mark.faults
needs_kubectl = pytest.mark.skipif(not KUBECTL.exists(), reason="kubectl is not installed beside Python")

TOLD = {
    TOP: r"shop/cart +zone-a +(leaving|held|returning) +\d",
    FINDINGS: r"Service shop/cart +ZoneSick\n.*requests leave zone-a: ",
    "zonal explain http://shop.example/ --zone zone-a": r"Zone zone-a fails: .* of the requests avoid it",
    "zonal endpoints --service shop/cart --in-zone zone-a": r"zone-a +(ready|ejected)",
    "get events --namespace shop": r"^cart\.",
    "zonal drain zone-a": r"1 of 1 replicas know it",
    "zonal undrain zone-a": r'zone-drain: ""',
}
"""What the output of a command has, where it depends on the sick zone."""

NO_SICK_ZONE = r"\A(?!.*zone-a +(probing|leaving|held|returning))"
"""What `top` says while no zone is sick."""

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

    async def at_home(self) -> int:
        """How many of the next requests go to zone-a, of `WATCHED` or somewhat more; all of them if it gets each."""
        before = [len(each.came_at) for each in self.endpoints]
        counts = [0]
        while sum(counts) < WATCHED:  # clients ask all the time
            await asyncio.sleep(0.05)
            counts = [len(each.came_at) - count for each, count in zip(self.endpoints, before, strict=True)]
        return sum(counts[:2]) * WATCHED // sum(counts)

    async def all_stay(self) -> bool:
        return await self.at_home() == WATCHED

    async def most_leave(self) -> bool:
        return await self.at_home() < WATCHED // 10


@asynccontextmanager
async def sick_shop(
    place: Path, *arguments: str, policy: str = "prefer-zone", ejects: bool = False
) -> AsyncIterator[Scene]:
    """A replica in zone-a that leads, three zones, 200 requests a second, and failures in zone-a.

    `ejects`: endpoints are ejected, as they are by default.
    """
    async with staged(place) as stage, AsyncExitStack() as stack:
        endpoints = [SickEndpoint(f"zone-{zone}", seconds=0.002) for zone in "aabbcc"]
        for each in endpoints:
            await each.start()
            stack.push_async_callback(each.stop)
        carts = [_Cart(each.zone, each.port) for each in endpoints]
        stage.put(ingress_class(), service("cart"), *map(_hinted_slice, carts))
        stage.put(ingress("web", rule(HOST, path("/", "cart"))))
        stage.settings(
            zone_aware_routing="true",
            zone_policy=policy,
            zone_drain_ramp="1s",
            **({} if ejects else {"ejection_failure_percent": "0"}),
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


def _hinted_slice(cart: _Cart) -> Document:
    document = endpoint_slice(cart)
    document["endpoints"][0]["hints"] = {"forZones": [{"name": cart.zone}]}
    return document


def test_the_page_has_every_command_that_is_judged_here() -> None:
    assert {*TOLD, *NONE_IS} < {*COMMANDS}
    kinds = [command.split()[1] for command in FORBID]
    assert kinds == [command.split()[1] for command in UNDO] == ["service", "ingress", "configmap"]


@pytest.mark.slow
@needs_kubectl
async def test_every_command_of_the_page_does_what_it_says(tmp_path: Path) -> None:
    async with sick_shop(tmp_path) as scene:
        await becomes(lambda: is_told(scene.zonal))
        await becomes(lambda: _has_event(scene.kubectl))
        for command in COMMANDS:
            output = await scene.kubectl(*shlex.split(command), status=1 if command in NONE_IS else 0)
            assert re.search(TOLD.get(command, ""), output, re.MULTILINE), (command, output)
        settings = await scene.kubectl("get", "configmap", "zonal", "--namespace", "zonal", "-o", "yaml")
        assert "zone-evacuation" not in settings, "the last command takes back what the others set"


@pytest.mark.slow
@needs_kubectl
async def test_what_the_page_forbids_ends_the_finding_and_the_event_says_so(tmp_path: Path) -> None:
    async with sick_shop(tmp_path) as scene:
        await becomes(lambda: is_told(scene.zonal))
        await becomes(lambda: _has_event(scene.kubectl))
        await scene.kubectl(*shlex.split(FORBID[0]))
        await becomes(lambda: is_not_told(scene.zonal))
        await becomes(lambda: _has_event(scene.kubectl, kind="Normal"))


@pytest.mark.slow
@needs_kubectl
async def test_each_way_to_forbid_brings_every_request_back_and_its_undoing_lets_them_leave(tmp_path: Path) -> None:
    async with sick_shop(tmp_path) as scene:
        for command, undo in zip(FORBID, UNDO, strict=True):
            await becomes(scene.most_leave)
            await becomes(lambda: is_told(scene.zonal))
            await scene.kubectl(*shlex.split(command))
            await becomes(scene.all_stay)
            await becomes(lambda: is_not_told(scene.zonal))
            await becomes(lambda: _top_has(scene.kubectl, NO_SICK_ZONE))
            await scene.kubectl(*shlex.split(undo))


@pytest.mark.slow
@needs_kubectl
async def test_where_one_of_two_ingresses_forbids_it_that_one_is_named(tmp_path: Path) -> None:
    async with sick_shop(tmp_path) as scene:
        scene.stage.put(ingress("other", rule("other.example", path("/", "cart"))))
        await becomes(scene.most_leave)
        await scene.kubectl(*shlex.split(FORBID[1]))
        await becomes(scene.all_stay)
        await becomes(lambda: _top_has(scene.kubectl, r"shop/cart +zone-a +\w+, not Ingress shop/web "))
        told = await scene.kubectl(*shlex.split(FINDINGS))
        assert "Requests of Ingress shop/web stay: settings there leave no zone." in " ".join(told.split())


@pytest.mark.slow
@needs_kubectl
async def test_a_dry_run_brings_every_request_back_and_goes_on_telling(tmp_path: Path) -> None:
    async with sick_shop(tmp_path) as scene:
        await becomes(scene.most_leave)
        await scene.kubectl(*shlex.split(DRY_RUN))
        await becomes(scene.all_stay)
        await becomes(lambda: _top_has(scene.kubectl, r"shop/cart +zone-a +\w+ \(dry run\)"))


@pytest.mark.slow
@needs_kubectl
async def test_where_endpoints_are_ejected_as_well_both_have_to_be_forbidden(tmp_path: Path) -> None:
    async with sick_shop(tmp_path, ejects=True) as scene:
        await becomes(scene.most_leave)
        await scene.kubectl(*shlex.split(FORBID[0]))
        await scene.kubectl(*shlex.split(KEEP_ENDPOINTS))
        await becomes(scene.all_stay)


@pytest.mark.slow
@needs_kubectl
async def test_requests_leave_under_a_policy_that_obeys_its_author_only_once_they_are_told_to(tmp_path: Path) -> None:
    async with sick_shop(tmp_path, policy="hints") as scene:
        assert await scene.all_stay()
        assert await is_not_told(scene.zonal)
        await scene.kubectl(*shlex.split(FORCE))
        await becomes(scene.most_leave)
        await becomes(lambda: is_told(scene.zonal))


@pytest.mark.slow
@needs_kubectl
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
        assert "No finding matches" in await scene.kubectl(*shlex.split(FINDINGS))
        await becomes(lambda: _top_has(scene.kubectl, NO_SICK_ZONE))


async def _top_has(kubectl: KubectlZonal, pattern: str) -> bool:
    return re.search(pattern, await kubectl(*shlex.split(TOP)), re.DOTALL) is not None


async def _has_event(kubectl: KubectlZonal, *, kind: str = "Warning") -> bool:
    told = json.loads(await kubectl("get", "events", "--namespace", "shop", "-o", "json"))
    return [(each["type"], each["reason"]) for each in told["items"]].count((kind, "ZoneSick")) == 1
