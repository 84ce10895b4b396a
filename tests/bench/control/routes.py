"""What one changed HTTPRoute among thousands costs, and how long until workers and its status follow; and storms.

Responsible for measuring. It must not know what the cluster looks like, nor how figures are shown.
"""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from ingress.following.holdoff import LONE_SECONDS
from tests.bench.control.effects import connections, seconds_until
from tests.bench.control.figures import Figure, median, waited
from tests.bench.control.processes import usage
from tests.bench.control.route_storms import Effort, RouteStorms
from tests.bench.control.routed_cluster import (
    RouteShape,
    documents,
    far_route_of,
    gateway_of,
    grant_of,
    host_of,
    ports_of,
    route_of,
)
from tests.bench.control.stage import HISTORY, Running, endpoints, proxy
from tests.bench.control.starting import first_sync
from tests.fakes.apiserver import ApiServer
from tests.features.gateway.api_stage import free_range, furnish
from tests.integration.manifests import Document
from tests.integration.wire import Connection

_SETTLE_SECONDS = 2.0
_CONTROL_MIB_MOST = 450.0
_BETWEEN_SECONDS = 1.0  # a translation is followed by as much rest as it took
_POLL_SECONDS = 0.005
_GRANTS, _IN_A_ROW, _SERVED_SECONDS = 5, 32, 60.0
_STATUSES_SECONDS = 300.0
_LOOK_SECONDS = 2.0
_WRITES = "--update-status=true"


class _Routed:
    """A running proxy before a cluster of routes, one of which changes."""

    def __init__(self, server: ApiServer, shape: RouteShape, running: Running, first_port: int) -> None:
        self._server = server
        self._shape = shape
        self._number = shape.routes // 3 | 1
        self._turn = 0
        self.running = running
        self.pid = running.zonal.pid
        self.port = first_port + gateway_of(shape, self._number)

    def change(self) -> int:
        """Changes the route. Returns the status of a request for `/` from now on."""
        self._turn += 1
        target, status = ("/", 200) if self._turn % 2 == 0 else ("/elsewhere", 404)
        self._server.put(route_of(self._shape, self._number, target=target))
        return status

    async def follows(self, opened: list[Connection]) -> float:
        """The seconds from a change until each connection sees it."""
        since, status = time.monotonic(), self.change()
        return await self._answers(opened, status, since)

    async def closes(self) -> float:
        """The seconds from the removal of a grant until no worker asks the Service that it was for."""
        grant = grant_of(self._shape, self._number)
        self._server.put(grant)
        self._server.put(far_route_of(self._shape, self._number))
        await self._is_served()
        await asyncio.sleep(_BETWEEN_SECONDS)
        async with connections(self.port, workers=self.running.workers) as opened:
            since = time.monotonic()
            self._server.delete("ReferenceGrant", grant["metadata"]["namespace"], grant["metadata"]["name"])
            return await self._answers(opened, 500, since)

    async def _is_served(self) -> None:
        """Waits until so many connections in a row get 200 that every worker has answered. 500 ends a connection."""
        in_a_row = 0
        async with asyncio.timeout(_SERVED_SECONDS):
            while in_a_row < _IN_A_ROW:
                async with await Connection.open(self.port) as each:
                    status = (await each.get(host_of(self._shape, self._number))).status
                in_a_row = in_a_row + 1 if status == 200 else 0

    async def _answers(self, opened: list[Connection], status: int, since: float) -> float:
        """The seconds until each connection gets this status for the route."""

        async def is_new(connection: Connection) -> bool:
            return (await connection.get(host_of(self._shape, self._number))).status == status

        return await seconds_until(opened, is_new, since=since)

    async def judged(self) -> float:
        """The seconds from a change until the status of the route speaks of it."""
        since = time.monotonic()
        self.change()
        while not _is_judged(self.route()):  # noqa: ASYNC110 - what is waited for comes from another process
            await asyncio.sleep(_POLL_SECONDS)
        return time.monotonic() - since

    def route(self) -> Document:
        """The route as the API server has it."""
        metadata = route_of(self._shape, self._number)["metadata"]
        found = self._server.get("HTTPRoute", metadata["namespace"], metadata["name"])
        assert found is not None
        return found

    def storms(self, effort: Effort) -> RouteStorms:
        """Storms of all routes but some of one Gateway."""
        gateway = gateway_of(self._shape, self._number)
        return RouteStorms(self._server, self._shape, effort, pid=self.pid, port=self.port, gateway=gateway)

    async def all_judged(self) -> None:
        """Waits until every route has a status of its generation."""
        async with asyncio.timeout(_STATUSES_SECONDS):
            # To look at every status holds the API server up.
            while not all(map(_is_judged, self._server.objects("HTTPRoute"))):  # noqa: ASYNC110 - of another process
                await asyncio.sleep(_LOOK_SECONDS)


@asynccontextmanager
async def _routed(shape: RouteShape, workers: int, *options: str) -> AsyncIterator[_Routed]:
    async with endpoints() as (port, _), ApiServer(history=HISTORY) as server:
        furnish(server)
        for document in documents(shape, port=port):
            server.put(document)
        gc.freeze()
        first, _ = free_range(shape.gateways)
        bound = ",".join(f"{each}={first + number}" for number, each in enumerate(ports_of(shape)))
        ports = ("--gateway-addresses=shared", f"--gateway-ports={bound}")
        async with proxy(server, workers, *ports, *options) as running:
            yield _Routed(server, shape, running, first)


async def route_figures(shape: RouteShape, effort: Effort, *, changes: int, workers: int) -> list[Figure]:
    """Every figure of a number of workers: first a replica that writes no statuses, then one that does."""
    async with _routed(shape, workers) as routed:
        figures = await _followed(routed, changes)
    async with _routed(shape, workers, _WRITES) as routed:
        figures += await _written(routed, changes)
        storms = routed.storms(effort)
        figures += await storms.routes(routed.all_judged)
        return [*figures, await storms.listeners()]


async def _followed(routed: _Routed, changes: int) -> list[Figure]:
    await asyncio.sleep(_SETTLE_SECONDS)
    figures = first_sync(routed.running, control_mib_most=_CONTROL_MIB_MOST)
    async with connections(routed.port, workers=routed.running.workers) as opened:
        taken = []
        for _ in range(changes):
            await asyncio.sleep(_BETWEEN_SECONDS)
            taken.append(await routed.follows(opened))
    closed = [await routed.closes() for _ in range(_GRANTS)]
    name, also = "one HTTPRoute changed, until every worker follows it", waited(LONE_SECONDS)
    figures.append(median(name, taken, bar=200, also=also))
    figures.append(median("a grant removed, until its route is closed everywhere", closed, bar=500))
    return [*figures, *await _costs(routed, changes)]


async def _costs(routed: _Routed, changes: int) -> list[Figure]:
    before = usage(routed.pid)
    await asyncio.sleep(_BETWEEN_SECONDS * changes)
    idle = usage(routed.pid).since(before)
    before = usage(routed.pid)
    for _ in range(changes):
        routed.change()
        await asyncio.sleep(_BETWEEN_SECONDS)
    used = usage(routed.pid).since(before).since(idle)
    detail = f"mean of {changes} changes, less {{:.1f}} ms that pass without any"
    return [
        Figure(
            name="one HTTPRoute changed: CPU of the control process",
            value=1000 * used.control / changes,
            unit="ms",
            detail=detail.format(1000 * idle.control / changes),
        ),
        Figure(
            name="one HTTPRoute changed: CPU of all workers",
            value=1000 * used.workers / changes,
            unit="ms",
            detail=detail.format(1000 * idle.workers / changes),
        ),
    ]


async def _written(routed: _Routed, changes: int) -> list[Figure]:
    await routed.all_judged()
    taken = []
    for _ in range(changes):
        await asyncio.sleep(_BETWEEN_SECONDS)
        taken.append(await routed.judged())
    return [median("one HTTPRoute changed, until its status says so", taken, bar=1000)]


def _is_judged(route: Document) -> bool:
    generation = route["metadata"].get("generation")
    said = [each for parent in route.get("status", {}).get("parents", ()) for each in parent["conditions"]]
    return bool(said) and all(each["observedGeneration"] == generation for each in said)
