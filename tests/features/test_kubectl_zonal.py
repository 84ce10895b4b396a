"""`kubectl zonal` as users run it: by real kubectl where there is one, against replicas in two zones."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.features.cluster.stage import HOST, Stage, becomes, staged
from tests.features.test_kubectl import KUBECTL, PATIENCE_SECONDS
from tests.integration.running import Zonal
from tests.integration.wire import get
from tests.unit.ingress.cli.kubectl.clusters import replica_pod

pytestmark = [
    pytest.mark.skipif(not KUBECTL.exists(), reason="kubectl is not installed beside Python"),
    pytest.mark.slow,  # each command starts kubectl and Python
]

_PLUGIN = f"#!{sys.executable}\nfrom ingress.__main__ import kubectl\nkubectl()\n"
"""What an installation of the package puts on the PATH."""


class KubectlZonal:
    """Runs `kubectl zonal` with a PATH, a home and a kubeconfig of its own."""

    def __init__(self, stage: Stage) -> None:
        place = stage.place / "bin"
        place.mkdir()
        (place / "kubectl-zonal").write_text(_PLUGIN)
        (place / "kubectl-zonal").chmod(0o755)
        kubeconfig = stage.server.write_kubeconfig(stage.place / "kubectl.yaml")
        self._environment = {
            "HOME": str(stage.place),
            "KUBECONFIG": str(kubeconfig),
            "PATH": f"{place}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": os.pathsep.join(sys.path),
        }

    async def __call__(self, *arguments: str, status: int = 0) -> str:
        """Its output, or its error output where the exit status has to be 2."""
        process = await asyncio.create_subprocess_exec(
            KUBECTL, *arguments, env=self._environment, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
        )
        async with asyncio.timeout(PATIENCE_SECONDS):
            output, errors = await process.communicate()
        assert process.returncode == status, (output + errors).decode()
        return (errors if status == 2 else output).decode()

    async def rows(self, *arguments: str, status: int = 0) -> Any:
        return json.loads(await self("zonal", *arguments, "-o", "json", status=status))


@asynccontextmanager
async def two_replicas(place: Path) -> AsyncIterator[tuple[Stage, list[Zonal], KubectlZonal]]:
    """A shop in three zones, with a replica in two of them and a pod for each."""
    async with staged(place) as stage:
        await stage.shop("zone-a", "zone-b", "zone-c", zone_aware_routing="true", zone_drain_ramp="1s")
        zonals = []
        for number, zone in enumerate(("zone-a", "zone-b")):
            zonal = await stage.ready(f"--zone={zone}", name=f"zonal-{number}")
            stage.put(replica_pod(f"zonal-{number}", zonal.admin_port))
            zonals.append(zonal)
        yield stage, zonals, KubectlZonal(stage)


async def test_kubectl_finds_the_plugin_and_the_plugin_the_replicas(tmp_path: Path) -> None:
    async with two_replicas(tmp_path) as (stage, zonals, kubectl):
        assert "kubectl-zonal" in await kubectl("plugin", "list")
        assert [each["own_zone"] for each in await kubectl.rows("status")] == ["zone-a", "zone-b"]
        (only,) = await kubectl.rows("status", "--zone", "zone-b")
        assert only["own_zone"] == "zone-b"
        for zonal in zonals:
            await get(zonal.http_port, HOST)
        assert len(await kubectl.rows("endpoints", "--service", "shop/cart")) == 3
        assert [each["host"] for each in await kubectl.rows("routes")] == [HOST]
        assert await kubectl.rows("findings") == []
        top = await kubectl.rows("top", "--once")
        assert (top["replicas"], top["counted"], top["services"][0]["ready"]) == (2, 2, 3)
        told = await kubectl("zonal", "explain", f"http://{HOST}/", "--zone", "zone-b", "--expect-zone", "zone-b")
        assert "zone_local" in told
        assert "nowhere" in await kubectl("zonal", "status", "--context", "nowhere", status=2)
        for name in ("zonal-0", "zonal-1"):
            stage.server.delete("Pod", "zonal", name)
        assert "no pod with the labels" in await kubectl("zonal", "status", status=2)


async def test_a_drained_zone_is_left_and_comes_back(tmp_path: Path) -> None:
    async with two_replicas(tmp_path) as (_, (zonal, _), kubectl):

        async def goes(*zones: str) -> bool:
            return {(await get(zonal.http_port, HOST)).json()["zone"] for _ in range(12)} <= set(zones)

        assert await goes("zone-a")
        assert "2 of 2 replicas know it" in await kubectl("zonal", "drain", "zone-a")
        await becomes(lambda: goes("zone-b", "zone-c"))
        assert "they know zone-a, zone-b, zone-c" in await kubectl("zonal", "drain", "zone-x", status=2)
        assert 'zone-drain: ""' in await kubectl("zonal", "undrain", "zone-a")
        await becomes(lambda: goes("zone-a"))
