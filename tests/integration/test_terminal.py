"""The commands that show what replicas know, against real processes that serve a shop in three zones."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from ingress.cli.commands import cli
from tests.integration.manifests import ingress, path, rule, service
from tests.integration.running import Zonal, running
from tests.integration.shop import HOST, Shop, shop
from tests.integration.wire import get


@asynccontextmanager
async def serving(place: Path) -> AsyncIterator[tuple[Shop, Zonal]]:
    """A replica in zone-a before a shop, and an Ingress whose Service has no endpoint."""
    async with shop(place, zone_aware_routing="true") as opened:
        opened.folder.write("lost.yaml", ingress("lost", rule("lost.test", path("/", "gone"))), service("gone"))
        async with running(opened.place, "--zone", "zone-a") as zonal:
            yield opened, zonal


async def asked(zonal: Zonal, *arguments: str) -> Result:
    """What a command prints about a replica, and its exit status."""
    given = (*arguments, "--admin", f"http://127.0.0.1:{zonal.admin_port}")
    return await asyncio.to_thread(CliRunner().invoke, cli, given)


async def rows(zonal: Zonal, *arguments: str) -> list[dict[str, Any]]:
    return list(json.loads((await asked(zonal, *arguments, "-o", "json")).stdout))


async def test_each_command_shows_what_the_replica_serves(tmp_path: Path) -> None:
    async with serving(tmp_path) as (opened, zonal):
        (status,) = await rows(zonal, "status")
        assert (status["own_zone"], status["zone_source"], status["answers"]) == ("zone-a", "flag", True)
        assert (await asked(zonal, "status")).exit_code == 0
        assert [(row["host"], row["service"]) for row in await rows(zonal, "routes", "--host", HOST)] == [
            (HOST, "cart")
        ]
        endpoints = await rows(zonal, "endpoints", "--service", "shop/cart")
        assert {row["address"] for row in endpoints} == {endpoint.label for endpoint in opened.endpoints}
        assert len(await rows(zonal, "endpoints", "--service", "shop/cart", "--in-zone", "zone-c")) == 3
        assert (await asked(zonal, "endpoints", "--service", "shop/nothing")).exit_code == 1
        (finding,) = await rows(zonal, "findings", "--severity", "closed")
        assert (finding["reason"], finding["name"]) == ("EndpointSliceMissing", "gone")
        assert (await asked(zonal, "findings", "--fail-on", "closed")).exit_code == 1
        assert await rows(zonal, "certs") == []


async def test_top_shows_the_requests_of_its_interval(tmp_path: Path) -> None:
    async with serving(tmp_path) as (_, zonal):
        is_over = asyncio.Event()

        async def traffic() -> None:
            while not is_over.is_set():
                await get(zonal.http_port, HOST, "/")
                await get(zonal.http_port, "lost.test", "/")

        sending = asyncio.create_task(traffic())
        result = await asked(zonal, "top", "--once", "--sort", "name", "-o", "json")
        is_over.set()
        await sending
        found = json.loads(result.stdout)
        assert (found["replicas"], found["counted"]) == (1, 1)
        cart, gone = found["services"]
        assert (cart["name"], cart["modes"], cart["local_share"]) == ("cart", ["zonal"], 1.0)
        assert (gone["name"], gone["modes"], gone["ready"]) == ("gone", ["empty"], 0)
        assert cart["requests_per_second"] > 0
        assert gone["errors_per_second"] > 0
        own = next(flow for flow in found["flows"] if flow["to_zone"] == "zone-a")
        assert own["from_zone"] == "zone-a"
        assert own["requests_per_second"] > 0
        assert own["dollars_per_month"] == 0


async def test_a_reader_that_leaves_early_is_no_reason_to_complain(tmp_path: Path) -> None:
    async with serving(tmp_path) as (_, zonal):
        reads, writes = os.pipe()
        os.close(reads)
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "ingress", "endpoints", "--admin", f"http://127.0.0.1:{zonal.admin_port}"),
            stdout=writes,
            stderr=asyncio.subprocess.PIPE,
        )
        os.close(writes)
        _, errors = await process.communicate()
        assert (process.returncode, errors) == (1, b"")
