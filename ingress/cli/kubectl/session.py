"""A connection to a cluster for one command: finds the replicas, forwards a port to each, reads and writes settings.

Its event loop runs in a thread of its own, because the commands themselves wait for answers. Does not know commands.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import quote

import msgspec

from ingress.cli.kubectl import drains
from ingress.cli.kubectl.forwarding import Forward
from ingress.cli.kubectl.replicas import ReplicaPod, replicas_of
from ingress.cli.terminal.asking import ask_all
from ingress.findings import printable
from ingress.sources.kubernetes.api import ApiServer
from ingress.sources.kubernetes.credentials import CannotConnect
from ingress.writing.calling import MERGE_PATCH, ApiAnswer, NoApiAnswer, ask

_T = TypeVar("_T")

# How often a change that came between reading and writing is taken in.
_ATTEMPTS: Final = 5
_CONFLICT: Final = 409
# A connection that was cut is noticed in one turn of the loop and closed in the next; above TLS it takes two more.
_LAST_TURNS: Final = 5


class CannotReach(Exception):
    """The cluster or its replicas cannot be reached. The text is one line that says what to change."""


class Access(msgspec.Struct, frozen=True, kw_only=True):
    """Which cluster, and which of its pods. An empty `zone` is every zone."""

    kubeconfig: Path
    context: str | None = None
    namespace: str = "zonal"
    selector: str = "app.kubernetes.io/name=zonal"
    zone: str = ""


class ClusterSession:
    """Replicas and the URLs that lead to their admin ports, in the same order."""

    __slots__ = ("_api", "_forwards", "_loop", "replicas", "urls")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._api: ApiServer | None = None
        self._forwards: list[Forward] = []
        self.replicas: list[ReplicaPod] = []
        self.urls: list[str] = []

    def run(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Waits for work on the session's loop."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def open(self, access: Access) -> None:
        """Finds the replicas and forwards a port to each. Raises `CannotReach`."""
        try:
            self._api = await ApiServer.connect(kubeconfig=access.kubeconfig, context=access.context)
        except CannotConnect as error:
            raise CannotReach(str(error)) from None
        self.replicas = await self._find(access)
        for replica in self.replicas:
            forward = Forward(self._api, replica)
            self.urls.append(await forward.start())
            self._forwards.append(forward)

    async def close(self) -> None:
        """Ends every forward and every connection."""
        for forward in self._forwards:
            await forward.stop()
        if self._api is not None:
            await self._api.close()

    async def _find(self, access: Access) -> list[ReplicaPod]:
        place = f"/api/v1/namespaces/{quote(access.namespace, safe='')}/pods"
        answer = await self._call("GET", place, query={"labelSelector": access.selector})
        if not answer.is_success:
            raise CannotReach(f"pods in namespace {access.namespace} cannot be listed: {answer.problem}")
        try:
            found = replicas_of(answer.body)
        except ValueError as error:
            raise CannotReach(printable(str(error), limit=300)) from None
        if not found:
            raise CannotReach(
                f"no pod with the labels {access.selector} runs in namespace {access.namespace} (--replicas-in)"
            )
        return found

    def keep_zone(self, zone: str) -> None:
        """Leaves the replicas of other zones out. They are asked for their own zone. Raises `CannotReach`."""
        replies = ask_all(self.urls, ("zones",))
        zones = [reply.overview.replica.own_zone if reply.overview is not None else None for reply in replies]
        if zone not in zones:
            known = ", ".join(sorted({each or "unknown" for each in zones if each is not None}))
            problem = next((reply.problem for reply in replies if reply.problem), "")
            told = f"their zones are {known}" if known else problem
            raise CannotReach(f"no replica is in zone {zone}: {told}")
        kept = [number for number, each in enumerate(zones) if each == zone]
        self.replicas = [self.replicas[number] for number in kept]
        self.urls = [self.urls[number] for number in kept]

    def drained(self, configmap: str) -> tuple[str, ...]:
        """The drains of the ConfigMap (namespace/name). Raises `CannotReach`."""
        return self.run(self._settings(configmap)).drained

    def drain(
        self, configmap: str, *, add: str | None = None, until: str = "", remove: str | None = None
    ) -> tuple[str, ...]:
        """Drains a zone more (`add`, perhaps `until` a time), a zone less (`remove`), or none. Returns the drains.

        Raises `CannotReach`.
        """
        return self.run(self._drain(configmap, add, until, remove))

    async def _drain(self, configmap: str, add: str | None, until: str, remove: str | None) -> tuple[str, ...]:
        for _ in range(_ATTEMPTS):
            settings = await self._settings(configmap)
            wanted = (
                drains.with_drain(settings.drained, add, until=until)
                if add
                else drains.without(settings.drained, remove)
            )
            if wanted == settings.drained:
                return wanted
            body = drains.patch(settings, wanted)
            answer = await self._call("PATCH", _place(configmap), body=body, content_type=MERGE_PATCH)
            if answer.is_success:
                return wanted
            if answer.status != _CONFLICT:
                raise CannotReach(f"the ConfigMap {configmap} cannot be changed: {answer.problem}")
        raise CannotReach(f"the ConfigMap {configmap} changes all the time")

    async def _settings(self, configmap: str) -> drains.Settings:
        answer = await self._call("GET", _place(configmap))
        if not answer.is_success:
            raise CannotReach(f"the ConfigMap {configmap} cannot be read: {answer.problem}")
        try:
            return drains.settings_of(answer.body)
        except ValueError as error:
            raise CannotReach(printable(str(error), limit=300)) from None

    async def _call(self, method: str, path: str, **options: Any) -> ApiAnswer:
        assert self._api is not None
        try:
            return await ask(self._api, method, path, **options)
        except NoApiAnswer as error:
            raise CannotReach(f"the API server does not answer: {error}") from None


@contextmanager
def session(access: Access) -> Iterator[ClusterSession]:
    """A session with the replicas of `access`, until the end of the block. Raises `CannotReach`."""
    begun: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = Future()
    thread = threading.Thread(target=lambda: asyncio.run(_last(begun)), name="forwards", daemon=True)
    thread.start()
    loop, over = begun.result()
    opened = ClusterSession(loop)
    try:
        opened.run(opened.open(access))
        if access.zone:
            opened.keep_zone(access.zone)
        yield opened
    finally:
        opened.run(opened.close())
        loop.call_soon_threadsafe(over.set)
        thread.join()


async def _last(begun: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]]) -> None:
    """Keeps the thread's loop until the event."""
    over = asyncio.Event()
    begun.set_result((asyncio.get_running_loop(), over))
    await over.wait()
    for _ in range(_LAST_TURNS):
        await asyncio.sleep(0)


def zones_of(urls: Sequence[str]) -> dict[str, bool]:
    """Every zone that any replica knows, and whether all of them know it as drained."""
    known: dict[str, bool] = {}
    for reply in ask_all(urls, ("zones",)):
        for row in (reply.overview.zones or ()) if reply.overview is not None else ():
            known[row.name] = known.get(row.name, True) and row.drained
    return known


def _place(configmap: str) -> str:
    namespace, _, name = configmap.partition("/")
    return f"/api/v1/namespaces/{namespace}/configmaps/{name}"
