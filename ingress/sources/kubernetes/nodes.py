"""Keeps a cache of Nodes: lists all Nodes once at the start, then reads each Node that an endpoint names for the first
time.

Reads only metadata, because zones are labels. `node_lookups` decides which Nodes to ask for. The Nodes become events of
one scope, like those of a reflector. Does not know zones.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from http import HTTPStatus

from ingress.objects.kinds import Kind, KubernetesObject
from ingress.sources.kubernetes.api import ApiError, ApiServer
from ingress.sources.kubernetes.decoding import DecodingError, Item, Unreadable, decode_item_of, decode_page
from ingress.sources.kubernetes.node_lookups import Lookup, NodeLookups
from ingress.sources.kubernetes.reflecting import ReflectorTimes
from ingress.sources.kubernetes.resources import Scope
from ingress.sources.kubernetes.scope_events import (
    Condition,
    ScopeEvent,
    ScopeReplaced,
    ScopeState,
    ScopeUnreadable,
    ScopeUpserted,
)

NODES = Scope(Kind.NODE, metadata_only=True)
"""The scope of the cache's events."""

_CONDITIONS: Mapping[int, Condition] = {
    HTTPStatus.FORBIDDEN: Condition.FORBIDDEN,
    HTTPStatus.NOT_FOUND: Condition.MISSING,
    HTTPStatus.UNAUTHORIZED: Condition.REJECTED,
}


class _Refused(Exception):
    """The API server answered with something other than objects."""

    def __init__(self, status: int) -> None:
        super().__init__(f"HTTP {status}")
        self.status = status


class NodeCache:
    """Looks up Nodes. Calls `emit` with each Node, and with the condition of the scope."""

    __slots__ = (
        "_api",
        "_condition",
        "_emit",
        "_has_listed",
        "_has_returned",
        "_lookups",
        "_loop",
        "_news",
        "_random",
        "_times",
    )

    def __init__(
        self, api: ApiServer, *, emit: Callable[[ScopeEvent], None], times: ReflectorTimes, random: Callable[[], float]
    ) -> None:
        self._api = api
        self._emit = emit
        self._times = times
        self._random = random
        self._lookups = NodeLookups()
        self._news = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._condition: Condition | None = None
        self._has_listed = False
        self._has_returned = False

    def ask_again(self) -> None:
        """Lists again soon if the list failed, because the API server serves again."""
        self._has_returned = True
        self._news.set()

    def name(self, namespace: str, name: str, nodes: Collection[str]) -> None:
        """Notes the nodes of a slice's endpoints. A slice that is gone has none."""
        if self._lookups.name((namespace, name), nodes, now=self._loop.time()):
            self._news.set()

    async def run(self) -> None:
        """Lists all Nodes until a list succeeds, and looks up named Nodes. Never returns."""
        list_at, backoff = self._loop.time(), self._times.backoff_first_seconds
        while True:
            self._news.clear()
            if self._has_returned:
                soon = self._loop.time() + self._times.return_spread_seconds * self._random()
                self._has_returned = False
                list_at = list_at if list_at == math.inf else min(list_at, soon)
            if self._loop.time() >= list_at:
                condition = await self._list()
                list_at = self._loop.time() + self._retry_seconds(condition, backoff)
                limit = self._times.backoff_max_seconds
                if condition is Condition.UNREACHABLE:  # no Node is known, and readiness waits for this list
                    limit = self._times.unanswered_max_seconds
                backoff = min(backoff * self._times.backoff_factor, limit)
            lookup = self._lookups.take(self._loop.time())
            if lookup is None:
                await self._until_due(list_at)
            elif await self._carry_out(lookup):
                list_at = math.inf

    def _retry_seconds(self, condition: Condition, backoff: float) -> float:
        if condition is Condition.SYNCED:
            return math.inf
        if condition is Condition.FORBIDDEN:
            return self._times.forbidden_seconds
        return backoff * (0.5 + 0.5 * self._random())

    async def _until_due(self, list_at: float) -> None:
        now = self._loop.time()
        wake_at = min(list_at, self._lookups.wake_at(now) or math.inf)
        with suppress(TimeoutError):
            async with asyncio.timeout(None if wake_at == math.inf else wake_at - now):
                await self._news.wait()

    async def _carry_out(self, lookup: Lookup) -> bool:
        """Asks for what is due. Returns whether all Nodes are known now."""
        if lookup.everything:
            return await self._list() is Condition.SYNCED
        await asyncio.gather(*(self._get(name) for name in lookup.names))
        return False

    async def _list(self) -> Condition:
        """Lists all Nodes. Returns the condition of the scope."""
        items: list[Item] = []
        token = ""
        try:
            while True:
                page = decode_page(await self._read(NODES.path, NODES.list_query(token=token), NODES.list_accept))
                items += [decode_item_of(Kind.NODE, raw) for raw in page.items]
                token = page.token
                if not token:
                    break
        except (ApiError, DecodingError, _Refused) as error:
            self._lookups.listed((), now=self._loop.time())
            return self._note_failure(error)
        objects: list[KubernetesObject] = []
        unreadable: list[Unreadable] = []
        for item in items:
            content = item.content
            unreadable.append(content) if isinstance(content, Unreadable) else objects.append(content)
        self._lookups.listed([item.identity.name for item in items], now=self._loop.time())
        self._emit(ScopeReplaced(NODES, tuple(objects), tuple(unreadable), page.version))
        self._has_listed = True
        self._say(Condition.SYNCED)
        return Condition.SYNCED

    async def _get(self, name: str) -> None:
        try:
            item = decode_item_of(Kind.NODE, await self._read(f"{NODES.path}/{name}", {}, NODES.watch_accept))
        except _Refused as error:
            self._lookups.missed([name], now=self._loop.time())
            if error.status != HTTPStatus.NOT_FOUND:
                self._note_failure(error)
            return
        except ApiError as error:
            self._lookups.missed([name], now=self._loop.time())
            self._note_failure(error)
            return
        self._lookups.found([name], now=self._loop.time())
        if isinstance(item.content, Unreadable):
            self._emit(ScopeUnreadable(NODES, item.content))
        else:
            self._emit(ScopeUpserted(NODES, item.content))
        if self._has_listed and self._condition is not Condition.SYNCED:
            self._say(Condition.SYNCED)

    async def _read(self, path: str, query: dict[str, str], accept: str) -> bytes:
        async with self._api.request("GET", path, query=query, accept=accept) as response:
            body = await response.read()
        if response.status == HTTPStatus.UNAUTHORIZED:
            await self._api.refresh_credentials()
        if response.status != HTTPStatus.OK:
            raise _Refused(response.status)
        return body

    def _note_failure(self, error: ApiError | DecodingError | _Refused) -> Condition:
        """Emits the condition that follows from a failure, and returns it."""
        status = error.status if isinstance(error, _Refused) else 0
        condition = _CONDITIONS.get(status, Condition.UNREACHABLE)
        self._say(condition, str(error))
        return condition

    def _say(self, condition: Condition, problem: str = "") -> None:
        self._condition = condition
        self._emit(ScopeState(NODES, condition, problem))
