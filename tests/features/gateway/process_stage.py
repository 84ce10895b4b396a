"""Cases on a real process with a worker process, which follows a manifest folder.

Slower than `stage`, but nothing between the files and the sockets is left out.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from tests.fakes.sockets import free_ports
from tests.features.gateway.cases import Json
from tests.features.gateway.documents import DEFINITION, Cluster
from tests.features.gateway.stage import GatewayStage
from tests.features.ingress_nginx.authorities import Authorities
from tests.integration.manifests import ManifestFolder
from tests.integration.running import Zonal

_OPTIONS = ("--allow-local-endpoints", "--workers=1", "--shutdown-grace-period=0", "--gateway-addresses=shared")
_POLL_SECONDS = 0.05


class ProcessGatewayStage(GatewayStage):
    """A running process, whose statuses come from its admin port."""

    patience_seconds = 20.0

    async def open(self) -> None:
        await self.endpoints.start()
        self._bound = dict(zip(self.listened, free_ports(len(self.listened)), strict=True))
        self._files = tempfile.TemporaryDirectory()
        place = Path(self._files.name)
        self._folder = ManifestFolder(place / "manifests")
        self._folder.write("all.json")
        self._folder.write("definition.json", DEFINITION)
        ports = ",".join(f"{port}={bound}" for port, bound in self._bound.items())
        zone = (f"--zone={self._context.zone}",) if self._context.zone else ()
        self._zonal = Zonal(place, "--source", str(self._folder.place), "--gateway-ports", ports, *_OPTIONS, *zone)
        try:
            await self._zonal.is_serving()
            await self._zonal.is_ready()
        except BaseException:
            self._zonal.kill()
            raise

    async def close(self) -> None:
        try:
            await self._zonal.stop()
        finally:
            self._zonal.kill()
            await self.endpoints.stop()
            self._files.cleanup()

    def port(self, number: int, gateway: str = "") -> int:
        return self._bound[number]

    def show(self, cluster: Cluster) -> None:
        self._folder.write("all.json", *cluster.documents())

    async def judged(self, judge: Callable[[list[Json]], list[str]]) -> list[str]:
        deadline = time.monotonic() + self.patience_seconds
        while True:
            document = (await self._zonal.admin("/debug/gateway")).json()
            problems = judge(document["statuses"])
            if not problems or time.monotonic() >= deadline:
                return problems
            await asyncio.sleep(_POLL_SECONDS)


@asynccontextmanager
async def staged_process(
    ports: Sequence[int], authorities: Authorities, zone: str | None = None
) -> AsyncIterator[GatewayStage]:
    """A process that serves, stopped at the end."""
    stage = ProcessGatewayStage(ports, authorities, zone)
    await stage.open()
    try:
        yield stage
    finally:
        await stage.close()
