"""A thousand routes that come, change and go each second, and listeners that come and go, beside requests for others.

Responsible for which objects change and which hosts are asked for. It must not know what the cluster looks like.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from functools import partial

import msgspec

from tests.bench.control.figures import Figure
from tests.bench.control.load import Latencies
from tests.bench.control.routed_cluster import RouteShape, gateway_of, host_of, listener_set_of, route_of
from tests.bench.control.stage import send
from tests.bench.control.storms import Changes, load_beside, storm_figures, unfollowed_changes
from tests.fakes.apiserver import ApiServer
from tests.integration.manifests import Document

_LOAD_PER_SECOND, _BUSY_HOSTS = 400, 100
_LISTENERS, _LISTENERS_PER_SECOND = 100, 10
_GOES_EACH = 4  # of so many changes of a route one takes it away
_STATUSES_MOST_SECONDS = 60.0


class Effort(msgspec.Struct, frozen=True, kw_only=True):
    """How long and how often."""

    seconds: float = 20.0
    rounds: int = 2


class RouteStorms:
    """Storms before one proxy. Requests go to routes of one Gateway that stay; all other routes change.

    `pid` is that of the control process, `port` the bound one of the Gateway `gateway`.
    """

    def __init__(
        self, server: ApiServer, shape: RouteShape, effort: Effort, *, pid: int, port: int, gateway: int
    ) -> None:
        self._server, self._shape, self._effort = server, shape, effort
        self._pid, self._port = pid, port
        of_gateway = (each for each in range(0, shape.routes, 2) if gateway_of(shape, each) == gateway)
        self._staying = list(of_gateway)[:_BUSY_HOSTS]
        self._hosts = [host_of(shape, each) for each in self._staying]
        self._turn = 0

    async def routes(self, all_judged: Callable[[], Awaitable[None]]) -> list[Figure]:
        """A thousand routes change each second. `all_judged` returns once every status says what is true."""
        quiet, stormy, unfollowed, changes = [], [], unfollowed_changes(self._server), self._changes()
        for _ in range(self._effort.rounds):
            quiet.append((await load_beside(unfollowed, self._load, self._pid)).latencies)
            stormy.append(await load_beside(changes, self._load, self._pid))
            since = time.monotonic()
            await all_judged()
            taken = time.monotonic() - since
        load = f"{_LOAD_PER_SECOND} requests/s to {len(self._hosts)} routes that stay"
        after = Figure(
            name="1,000 route changes/s: until all statuses are right afterwards",
            value=taken,
            unit="s",
            bar=_STATUSES_MOST_SECONDS,
            detail=f"after {self._effort.seconds:.0f} s of changes",
        )
        return [*storm_figures("1,000 route changes/s", quiet, stormy, load), after]

    async def listeners(self) -> Figure:
        """A hundred ListenerSets of others go and come back."""
        beside = await load_beside(self._listeners(), self._load, self._pid, rate=_LISTENERS_PER_SECOND)
        return Figure(
            name=f"{_LISTENERS} listeners that go and come: failed requests elsewhere",
            value=beside.latencies.failed,
            unit="",
            bar=0,
            detail=f"of {beside.latencies.sent:,}; p99 {beside.latencies.p99:.1f} ms",
        )

    async def _load(self) -> Latencies:
        return await send(self._port, hosts=self._hosts, rate=_LOAD_PER_SECOND, seconds=self._effort.seconds)

    def _changes(self) -> Changes:
        staying = set(self._staying)
        changing = [each for each in range(self._shape.routes) if each not in staying]
        while True:
            self._turn += 1
            for number in changing:
                yield partial(self._change, number, goes=(number + self._turn) % _GOES_EACH == 0)

    def _change(self, number: int, *, goes: bool) -> None:
        route = route_of(self._shape, number, target=f"/turn-{self._turn}")
        key = (route["metadata"]["namespace"], route["metadata"]["name"])
        known = self._server.get("HTTPRoute", *key)
        if known is not None and goes:
            return self._server.delete("HTTPRoute", *key)
        self._server.put(_with_status(route, known))

    def _listeners(self) -> Changes:
        """All go, one after the other, and come back."""
        sets = [listener_set_of(self._shape, number) for number in range(min(_LISTENERS, self._shape.listener_sets))]
        while True:
            for each in sets:
                metadata = each["metadata"]
                yield partial(self._server.delete, "ListenerSet", metadata["namespace"], metadata["name"])
            for each in sets:
                yield partial(self._server.put, each)


def _with_status(document: Document, known: Document | None) -> Document:
    """The document with the status that the object has, as an API server keeps it when the spec changes."""
    return document | {"status": known["status"]} if known and "status" in known else document
