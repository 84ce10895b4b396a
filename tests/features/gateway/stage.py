"""A running zonal that serves one case after the other: the real translation and the fleet of `--workers 0`.

Only the source is missing: objects go into the inventory directly, so a change is served when `judged` returns.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

import msgspec

from balancer.connections.listeners import Port
from balancer.connections.tls import self_signed
from balancer.logs.accesslines import AccessLogFormat
from balancer.model.publication import Publication
from balancer.workers.inprocess import InProcessFleet
from ingress.objects.converting import ObjectError, decode
from ingress.objects.kinds import Kind, KubernetesObject
from ingress.settings.context import TranslationContext
from ingress.sources.events import Replaced
from ingress.sources.inventory import Inventory
from ingress.translation.assembly import Memories, translate
from tests.features.gateway.cases import Case, Json, Step
from tests.features.gateway.documents import PROVISIONED, Cluster, Place
from tests.features.ingress_nginx.authorities import Authorities
from tests.features.ingress_nginx.endpoints import Endpoint, Endpoints

_FALLBACK = self_signed()
_CLOSE_SECONDS, _SWAP_SECONDS, _POLL_SECONDS = 5.0, 60.0, 0.02
_NOT_SPOKEN = ("udp",)


class GatewayStage:
    """The process under test, the endpoints behind it, and where its ports are bound."""

    patience_seconds = 5.0
    """How long an answer may be that of before a change."""

    def __init__(self, ports: Sequence[int], authorities: Authorities, zone: str | None) -> None:
        """`ports` are all that listeners of the cases have."""
        self.authorities = authorities
        self.endpoints = Endpoints(authorities)
        self.statuses: list[Json] = []
        self.zones: dict[tuple[str, str], str] = {}
        """The zone of each endpoint that has one, by `namespace/name` of its Service and its index."""
        self.listened = ports
        self._placed: dict[tuple[str, int], tuple[Json, list[Endpoint]]] = {}
        self._generation = 0
        self._memories = Memories()
        pairs = tuple((port, str(port)) for port in ports)
        self._context = TranslationContext(allow_local_endpoints=True, zone=zone, gateway_ports=pairs)

    async def open(self) -> None:
        await self.endpoints.start()
        self._log = os.open(os.devnull, os.O_WRONLY)
        self._fleet = InProcessFleet(
            address="127.0.0.1",
            ports=(Port("http", 0), Port("https", 0), *(Port(str(port), 0) for port in self.listened)),
            access_log=AccessLogFormat.OFF,
            fallback=_FALLBACK,
            new_log=lambda: self._log,
        )
        self._fleet.open()
        await self._fleet.start()

    async def close(self) -> None:
        deadline = time.monotonic() + _CLOSE_SECONDS
        while time.monotonic() < deadline:
            if not sum((await self._fleet.report()).connections.values()):
                break
            await asyncio.sleep(_POLL_SECONDS)
        await self._fleet.stop()
        await self.endpoints.stop()

    def begin(self, case: Case) -> None:
        """Begins a case."""

    def port(self, number: int, gateway: str = "") -> int:
        """The bound port of a port of `gateway`; empty: of the only one. All share their ports here."""
        return self._fleet.ports[str(number)]

    def place(self, name: str, said: Json) -> dict[int, list[Place]]:
        """Where the endpoints of each port of a Service are. New ones are made if the Service says something new."""
        found: dict[int, list[Place]] = {}
        if said.get("protocol") in _NOT_SPOKEN:
            return found
        for each in said["ports"]:
            port = each if isinstance(each, int) else each["port"]
            kept = self._placed.get((name, port))
            if kept is None or kept[0] != said:
                kept = self._placed[name, port] = said, self._endpoints(name, said, port)
            found[port] = [(endpoint.host, endpoint.port) for endpoint in kept[1]]
        return found

    def forget(self) -> None:
        """Ends a case: the next one has endpoints of its own."""
        self._placed.clear()
        self.zones.clear()

    def show(self, cluster: Cluster) -> None:
        """Makes zonal serve these objects and no others."""
        objects = [item for each in cluster.documents() if (item := _decoded(each)) is not None]
        inventory = Inventory()
        for kind in Kind:
            inventory.apply(Replaced(kind, tuple(item for item in objects if item.kind is kind)))
        inventory.apply(PROVISIONED)
        translation = translate(inventory, self._context, memories=self._memories)
        self._generation += 1
        self._fleet.publish(Publication(self._generation, translation.model))
        self.statuses = msgspec.to_builtins(translation.standings)

    def patch_status(self, change: Json) -> None:
        """Another controller writes into a status. Nobody has one here."""

    def further_problems(self, step: Step) -> list[str]:
        """What is not as expected beside statuses; nothing here."""
        del step
        return []

    async def judged(self, judge: Callable[[list[Json]], list[str]]) -> list[str]:
        """What `judge` says about the statuses, once the worker serves the model that they are of.

        A connection that comes earlier belongs to what was served before, and keeps that.
        """
        deadline = time.monotonic() + _SWAP_SECONDS
        while self._fleet.generation_in_use() < self._generation:
            assert time.monotonic() < deadline, "the model is not in use"
            await asyncio.sleep(_POLL_SECONDS)
        return judge(self.statuses)

    def _endpoints(self, name: str, said: Json, port: int) -> list[Endpoint]:
        namespace, _, service = name.partition("/")
        hows = said.get("endpoints", 1)
        listed = [{}] * hows if isinstance(hows, int) else hows
        states = ["up" if isinstance(each, dict) else each for each in listed]
        made = self.endpoints.add(namespace, service, {**said, "endpoints": states}, known=[])
        for index, (endpoint, how) in enumerate(zip(made, listed, strict=True)):
            endpoint.index = f"{port}-{index}"
            if isinstance(how, dict) and "zone" in how:
                self.zones[name, endpoint.index] = how["zone"]
        return made


@asynccontextmanager
async def staged(
    ports: Sequence[int], authorities: Authorities, zone: str | None = None
) -> AsyncIterator[GatewayStage]:
    """A stage that serves, stopped at the end."""
    stage = GatewayStage(ports, authorities, zone)
    await stage.open()
    try:
        yield stage
    finally:
        await stage.close()


def _decoded(document: Json) -> KubernetesObject | None:
    try:
        return decode(document)
    except ObjectError:
        return None
