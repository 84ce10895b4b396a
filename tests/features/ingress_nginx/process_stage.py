"""A start of zonal as a process with a worker process, which follows a manifest folder.

Slower than `stage`, but nothing between the files and the sockets is left out.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from ingress.findings import Finding
from tests.features.ingress_nginx.authorities import Authorities
from tests.features.ingress_nginx.cases import Case, Start
from tests.features.ingress_nginx.stage import Stage
from tests.integration.manifests import Document, ManifestFolder
from tests.integration.running import Zonal

_OPTIONS = (
    "--allow-local-endpoints",
    "--allow-external-name",
    "--enable-ssl-passthrough",
    "--workers=1",
    "--shutdown-grace-period=0",
)
_FINDINGS_SECONDS = 0.1  # between two looks; a case asks again until a change is served


class ProcessStage(Stage):
    """A running process. `findings` are at most a tenth of a second old."""

    async def open(self) -> None:
        await self.endpoints.start()
        self._place_all()
        self._files = tempfile.TemporaryDirectory()
        place = Path(self._files.name)
        self._folder = ManifestFolder(place / "manifests")
        self._publish()
        self._zonal = Zonal(place, "--source", str(self._folder.place), *_OPTIONS, *self._start.flags)
        try:
            await self._zonal.is_serving()
            await self._zonal.is_ready()
            await self._look()
        except BaseException:
            self._zonal.kill()
            raise
        self.ports = {"http_port": self._zonal.http_port, "https_port": self._zonal.https_port}
        self._looking = asyncio.ensure_future(self._look_again())

    async def close(self) -> None:
        self._looking.cancel()
        await asyncio.wait({self._looking})
        try:
            await self._zonal.stop()
        finally:
            self._zonal.kill()
            self.log += self._zonal.stdout.encode()
            await self.endpoints.stop()
            self._files.cleanup()

    def _serve(self, documents: list[Document]) -> None:
        self._folder.write("all.json", *documents)

    async def _look(self) -> None:
        self.findings = tuple(msgspec.convert(await self._zonal.findings(), list[Finding]))

    async def _look_again(self) -> None:
        while True:
            await asyncio.sleep(_FINDINGS_SECONDS)
            await self._look()


@asynccontextmanager
async def staged_process(start: Start, cases: Sequence[Case], authorities: Authorities) -> AsyncIterator[Stage]:
    """A process that serves, stopped at the end."""
    stage = ProcessStage(start, cases, authorities)
    await stage.open()
    try:
        yield stage
    finally:
        await stage.close()
