"""An API server, endpoints on loopback, and processes that follow the one and serve the others.

Responsible for starting and ending them. At the end every process that still runs is stopped by SIGTERM, which must
end it with status 0 and without a traceback.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from tests.fakes.apiserver import ApiServer
from tests.fakes.backends import EchoEndpoint
from tests.fakes.stopwatch import Stopwatch
from tests.features.test_kubectl import Kubectl
from tests.integration.manifests import (
    Document,
    config_map,
    endpoint_slice,
    ingress,
    ingress_class,
    path,
    rule,
    service,
)
from tests.integration.running import Zonal
from tests.integration.wire import get

HOST = "shop.test"
TARGET = "/1024/once"
"""What both kinds of endpoints of these tests answer."""

SCALE = 0.02
"""How much shorter the times of lists, watches and elections are, unless a test says otherwise."""

PATIENCE_SECONDS = 60.0
_POLL_SECONDS = 0.01


class Stage:
    """What a test acts on. `place` is a folder of its own."""

    def __init__(self, server: ApiServer, place: Path, stack: AsyncExitStack) -> None:
        self.server = server
        self.place = place
        self.zonals: list[Zonal] = []
        self._stack = stack

    def put(self, *documents: Document) -> None:
        """Store objects, in this order and in one turn of the event loop."""
        for document in documents:
            self.server.put(document)

    def settings(self, **data: str) -> None:
        """Store the ConfigMap; plain HTTP is never redirected unless `ssl_redirect` says so."""
        self.put(config_map(**{"ssl_redirect": "false", **data}))

    async def endpoint(self, name: str = "cart", *, zone: str | None = None) -> EchoEndpoint:
        """Start an endpoint. Nothing is stored about it."""
        started = EchoEndpoint(name, zone=zone)
        await started.start()
        self._stack.push_async_callback(started.stop)
        return started

    async def shop(self, *zones: str | None, **settings: str) -> list[EchoEndpoint]:
        """Store a shop that serves `HOST` from an endpoint in each zone, and these settings."""
        cart = [await self.endpoint(zone=zone) for zone in zones or ("zone-a",)]
        self.put(ingress_class(), service("cart"), *map(endpoint_slice, cart))
        self.put(ingress("web", rule(HOST, path("/", "cart"))))
        self.settings(**settings)
        return cart

    def relist(self) -> None:
        """Cut every watch, and forget the history that they would go on from: each is answered with 410."""
        self.server.cut_watches()
        self.put({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "unrelated"}})
        self.server.compact()

    def kubectl(self) -> Kubectl:
        return Kubectl(self.place, self.server.write_kubeconfig(self.place / "kubectl.yaml"))

    async def started(
        self,
        *arguments: str,
        name: str = "zonal-0",
        scale: float = SCALE,
        token: str | None = None,
        environment: Mapping[str, str] | None = None,
        anew: bool = False,
    ) -> Zonal:
        """A process that listens; it may not be ready. `name` is its pod's. It writes nothing unless told to.

        `anew` is that of `starting.start`.
        """
        place = self.place / name
        place.mkdir()
        zonal = Zonal(
            place,
            "--source=kubernetes",
            f"--kubeconfig={self.server.write_kubeconfig(place / 'kubeconfig', token)}",
            "--allow-local-endpoints",
            "--shutdown-grace-period=0",
            f"--time-scale={scale}",
            f"--pod-name={name}",
            "--pod-namespace=zonal",
            "--update-status=false",
            *arguments,
            environment=environment,
            anew=anew,
        )
        self._stack.callback(zonal.kill)
        self.zonals.append(zonal)
        await zonal.is_serving()
        return zonal

    async def ready(
        self,
        *arguments: str,
        name: str = "zonal-0",
        scale: float = SCALE,
        token: str | None = None,
        environment: Mapping[str, str] | None = None,
        anew: bool = False,
    ) -> Zonal:
        """As `started`, and it is ready."""
        zonal = await self.started(*arguments, name=name, scale=scale, token=token, environment=environment, anew=anew)
        await zonal.is_ready()
        return zonal


@asynccontextmanager
async def staged(place: Path, server: ApiServer | None = None) -> AsyncIterator[Stage]:
    """A stage with an empty cluster; `server` is one that does not listen yet."""
    async with AsyncExitStack() as stack:
        stage = Stage(await stack.enter_async_context(server or ApiServer()), place, stack)
        yield stage
        for zonal in stage.zonals:
            if zonal.exit_status is None:
                await zonal.stop()


async def becomes(is_so: Callable[[], Awaitable[bool]], *, seconds: float = PATIENCE_SECONDS) -> float:
    """Wait for a state; the seconds it took."""
    watch = Stopwatch()
    while not await is_so():
        assert watch.within(seconds), "what was waited for did not come"
        await asyncio.sleep(_POLL_SECONDS)
    return watch.seconds


async def status_of(zonal: Zonal, host: str = HOST, target: str = TARGET) -> int:
    """The status of one request over plain HTTP."""
    return (await get(zonal.http_port, host, target)).status


async def answers(
    zonal: Zonal, status: int, host: str = HOST, target: str = TARGET, *, seconds: float = PATIENCE_SECONDS
) -> float:
    """Wait until requests are answered so; the seconds it took."""

    async def is_so() -> bool:
        return await status_of(zonal, host, target) == status

    return await becomes(is_so, seconds=seconds)


async def zones_of(zonal: Zonal, *, requests: int = 12, host: str = HOST) -> set[str]:
    """The zones of the endpoints that answer so many requests."""
    return {(await get(zonal.http_port, host)).json()["zone"] for _ in range(requests)}


async def own_zone(zonal: Zonal) -> tuple[str | None, str | None]:
    """The zone that a process is in, and who says so."""
    own: dict[str, Any] = (await zonal.model())["model"]["own_zone"]
    return own["zone"], own["source"]


async def has_finding(zonal: Zonal, kind: str, reason: str, *, seconds: float = PATIENCE_SECONDS) -> dict[str, str]:
    """Wait until `/debug/findings` has such a finding, and until the metric counts it."""
    found: list[dict[str, str]] = []

    async def is_so() -> bool:
        found[:] = [each for each in await zonal.findings() if (each["kind"], each["reason"]) == (kind, reason)]
        if not found:
            return False
        labels = {"kind": kind, "reason": reason, "severity": found[0]["severity"]}
        samples = (await zonal.metrics())["zonal_findings"].samples
        return any(each.labels == labels and each.value for each in samples)

    await becomes(is_so, seconds=seconds)
    return found[0]


async def has_no_finding(zonal: Zonal, kind: str, reason: str, *, seconds: float = PATIENCE_SECONDS) -> None:
    """Wait until `/debug/findings` has no such finding."""

    async def is_so() -> bool:
        return (kind, reason) not in {(each["kind"], each["reason"]) for each in await zonal.findings()}

    await becomes(is_so, seconds=seconds)


def resident_bytes(zonal: Zonal) -> int:
    return _status_bytes(zonal, "VmRSS")


def peak_bytes(zonal: Zonal) -> int:
    return _status_bytes(zonal, "VmHWM")


def forget_peak(zonal: Zonal) -> None:
    """Measure `peak_bytes` from now on (proc(5): clear_refs)."""
    Path(f"/proc/{zonal.pid}/clear_refs").write_text("5")


def _status_bytes(zonal: Zonal, name: str) -> int:
    found = re.search(rf"^{name}:\s+(\d+) kB$", Path(f"/proc/{zonal.pid}/status").read_text(), re.MULTILINE)
    assert found
    return int(found[1]) * 1024
