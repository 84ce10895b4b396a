"""Reflectors at work on the test API server, and what one has said so far, applied as any listener would."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec

from ingress.objects.kinds import Kind, KubernetesObject, key_of
from ingress.sources.kubernetes.api import ApiServer as Api
from ingress.sources.kubernetes.reflecting import ReflectorTimes
from ingress.sources.kubernetes.reflector import Reflector
from ingress.sources.kubernetes.resources import Scope
from ingress.sources.kubernetes.scope_events import (
    Condition,
    ScopeEvent,
    ScopeRemoved,
    ScopeReplaced,
    ScopeState,
    ScopeUnreadable,
    ScopeUpserted,
)
from tests.fakes.apiserver import ApiServer

SERVICES = Scope(Kind.SERVICE)

QUICK = msgspec.structs.replace(ReflectorTimes().scaled(0.02), streaming_silence_seconds=10.0)
"""Back-off 16 ms to 0.6 s, watches 5 to 7 s; a busy machine is not silence."""


class Listener:
    """What was said, and the state that follows from it."""

    def __init__(self) -> None:
        self.events: list[ScopeEvent] = []
        self.objects: dict[tuple[str, str], KubernetesObject] = {}
        self.reflector: Reflector | None = None

    def __call__(self, event: ScopeEvent) -> None:
        self.events.append(event)
        match event:
            case ScopeReplaced(objects=objects):
                self.objects = {key_of(item): item for item in objects}
            case ScopeUpserted(object=item):
                self.objects[key_of(item)] = item
            case ScopeRemoved(namespace=namespace, name=name):
                self.objects.pop((namespace, name), None)

    @property
    def last_event_at(self) -> float | None:
        return self.reflector.last_event_at if self.reflector else None

    @property
    def names(self) -> set[str]:
        return {name for _, name in self.objects}

    @property
    def states(self) -> list[Condition]:
        return [event.condition for event in self.events if isinstance(event, ScopeState)]

    @property
    def problems(self) -> list[str]:
        return [event.problem for event in self.events if isinstance(event, ScopeState)]

    @property
    def replacements(self) -> list[ScopeReplaced]:
        return [event for event in self.events if isinstance(event, ScopeReplaced)]

    @property
    def unreadable(self) -> list[ScopeUnreadable]:
        return [event for event in self.events if isinstance(event, ScopeUnreadable)]

    @property
    def upserts(self) -> list[ScopeUpserted]:
        return [event for event in self.events if isinstance(event, ScopeUpserted)]

    @property
    def condition(self) -> Condition | None:
        return self.states[-1] if self.states else None

    @property
    def is_synced(self) -> bool:
        return self.condition is Condition.SYNCED


@asynccontextmanager
async def connected(server: ApiServer, place: Path, *, recheck_seconds: float = 60.0) -> AsyncIterator[Api]:
    """Our client of the test API server."""
    kubeconfig = server.write_kubeconfig(place / "kubeconfig")
    api = await Api.connect(kubeconfig=kubeconfig, recheck_seconds=recheck_seconds)
    try:
        yield api
    finally:
        await api.close()


@asynccontextmanager
async def following(
    api: Api, scope: Scope = SERVICES, *, times: ReflectorTimes = QUICK, seed: int = 1
) -> AsyncIterator[Listener]:
    """A reflector that runs until the end of the block, and its listener. Fails if the reflector ends by itself."""
    listener = Listener()
    reflector = Reflector(api, scope, emit=listener, times=times, random=random.Random(seed).random)
    listener.reflector = reflector
    task = asyncio.ensure_future(reflector.run())
    try:
        yield listener
        assert not task.done(), task.exception()
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def service(name: str, port: int = 80, **metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": "shop", **metadata},
        "spec": {"ports": [{"port": port}]},
    }
