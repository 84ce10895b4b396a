"""One greedy tenant after the other in turns with silence, beside one modest tenant whom none of them harms.

Each row fills, or leans on, a bound that tenants share. The modest tenant sends the same requests beside it and alone,
by turns, so that what else the machine does concerns both.
"""

from __future__ import annotations

import asyncio
import itertools
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.fakes.endpoints import ScriptedEndpoint, Visit, answering
from tests.fakes.sockets import free_ports
from tests.features.faults.holes import fill
from tests.features.faults.load import HOST, Ledger, Load, honest
from tests.features.faults.stage import Place, slice_of
from tests.features.tenants.neighbours import Tenant, assert_unharmed, in_one_of_three, memory_of, neighbours
from tests.integration.manifests import Document, ManifestFolder, ingress, path, rule, service
from tests.integration.running import Zonal, until

pytestmark = pytest.mark.faults

_ROUNDS, _ROUND_SECONDS, _RATE = 2, 0.5, 100
_NAMES = 100  # more than may be looked up at one time
_SILENT = 210  # more endpoints than are checked at one time for a namespace
_STREAMS, _STREAM_BYTES = 600, 256 * 1024  # more than there is room for
_ROOM_BYTES = 64 * 1024 * 1024
_BROKEN = 300
_AT_ONCE = 20
_WELCOME = answering(b"HTTP/1.1 204 No Content\r\n\r\n")


class Stage(NamedTuple):
    """The process before the two tenants, the folder that it follows, and the port of the greedy one's streams."""

    zonal: Zonal
    folder: ManifestFolder
    stream_port: int


async def _talks_on(visit: Visit) -> None:
    await visit.send(bytes(_STREAM_BYTES))
    await visit.rest()


@asynccontextmanager
async def _asking(port: int, targets: Sequence[str]) -> AsyncIterator[None]:
    """A few clients who ask for one target after the other, and take any answer."""
    turns = itertools.cycle(targets)

    async def ask() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            for target in turns:
                writer.write(f"GET {target} HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode())
                head = await reader.readuntil(b"\r\n\r\n")
                await reader.readexactly(int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]))
                await asyncio.sleep(0.05)
        finally:
            writer.transport.abort()

    tasks = [asyncio.create_task(ask()) for _ in range(_AT_ONCE)]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        for ended in await asyncio.gather(*tasks, return_exceptions=True):
            assert isinstance(ended, asyncio.CancelledError), ended


def _names(stage: Stage) -> AbstractAsyncContextManager[None]:
    """Auth services by names that nobody knows."""
    return _asking(stage.zonal.http_port, [f"/greedy-{number}" for number in range(_NAMES)])


@asynccontextmanager
async def _written(stage: Stage, *documents: Document) -> AsyncIterator[None]:
    """These documents, for as long as the context lasts."""
    for some in (documents, ()):
        generation = await stage.zonal.generation()
        stage.folder.write("more.json", *some)
        await stage.zonal.reaches_generation(generation + 1, seconds=30.0)
        if some:
            yield


@asynccontextmanager
async def _checks(stage: Stage) -> AsyncIterator[None]:
    """Endpoints that are checked and never answer."""
    annotations = {"zonal-ingress.io/health-check-path": "tcp", "zonal-ingress.io/health-check-interval": "1s"}
    with ExitStack() as held:
        places = []
        for number in range(_SILENT):
            hole = held.enter_context(socket.socket())
            hole.bind((f"127.0.2.{number + 1}", 0))
            for filler in fill(hole):
                held.enter_context(filler)
            places.append(Place(*hole.getsockname()))
        slices = [slice_of("checked", each) for each in places]
        for each in slices:
            each["metadata"]["namespace"] = "greedy"
        rules = rule(HOST, path("/checked", "checked"))
        web = ingress("checked", rules, namespace="greedy", annotations=annotations)
        async with _written(stage, web, service("checked", namespace="greedy"), *slices):
            yield


@asynccontextmanager
async def _findings(stage: Stage) -> AsyncIterator[None]:
    """Ingresses that are wrong. One of the modest tenant is told of all the same."""
    broken = {"nginx.ingress.kubernetes.io/proxy-read-timeout": "soon"}
    rules = rule(HOST, path("/broken", "app"))
    wrong = [ingress(f"broken-{number}", rules, namespace="greedy", annotations=broken) for number in range(_BROKEN)]
    async with _written(stage, *wrong, ingress("mistaken", rules, namespace="modest", annotations=broken)):
        await until(lambda: "modest/mistaken" in stage.zonal.stderr, seconds=30.0)
        assert "more findings; see" in stage.zonal.stderr
        yield


@asynccontextmanager
async def _streams(stage: Stage) -> AsyncIterator[None]:
    """Streams whose clients do not read, all open when the context begins: to open them costs too (known-flaws.md)."""
    before = memory_of(stage.zonal)
    with ExitStack() as held:
        clients = [held.enter_context(socket.socket()) for _ in range(_STREAMS)]
        for client in clients:
            client.setblocking(False)
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            with suppress(BlockingIOError):
                client.connect(("127.0.0.1", stage.stream_port))
            await asyncio.sleep(0)
        await until(lambda: all(map(_has_bytes, clients)), seconds=30.0)
        yield
        assert memory_of(stage.zonal) - before < _ROOM_BYTES, "half of the room is the most for one namespace"


def _has_bytes(client: socket.socket) -> bool:
    """Whether bytes of the endpoint have come; they are not taken."""
    with suppress(BlockingIOError):
        return bool(client.recv(1, socket.MSG_PEEK))
    return False


ROWS: dict[str, Callable[[Stage], AbstractAsyncContextManager[None]]] = {
    "active checks": _checks,
    "findings": _findings,
    "look-ups of names": _names,
    "bytes of streams": _streams,
}


def _asks(number: int) -> Document:
    """A path whose auth service has a name that nobody knows."""
    annotations = {"nginx.ingress.kubernetes.io/auth-url": f"http://name-{number}.invalid/"}
    rules = rule(HOST, path(f"/greedy-{number}", "app"))
    return ingress(f"asks-{number}", rules, namespace="greedy", annotations=annotations)


def _greedy(endpoint: ScriptedEndpoint, talker: ScriptedEndpoint) -> Tenant:
    talking = slice_of("talker", talker)
    talking["metadata"]["namespace"] = "greedy"
    ports: Document = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "tcp", "namespace": "greedy"},
        "data": {"5432": "greedy/talker:80"},
    }
    asking = [_asks(number) for number in range(_NAMES)]
    return Tenant("greedy", [endpoint], objects=[*asking, service("talker", namespace="greedy"), talking, ports])


@asynccontextmanager
async def _staged(place: Path) -> AsyncIterator[Stage]:
    ledger, (port,) = Ledger(), free_ports(1)
    async with (
        ScriptedEndpoint(honest(ledger)) as endpoint,
        ScriptedEndpoint(_WELCOME) as welcome,
        ScriptedEndpoint(_talks_on) as talker,
    ):
        modest = Tenant("modest", [endpoint], annotations={"auth-url": f"http://127.0.0.1:{welcome.port}/"})
        ports = ("--tcp-services-configmap=greedy/tcp", f"--gateway-ports=5432={port}", "--gateway-addresses=none")
        async with neighbours(place, _greedy(endpoint, talker), modest, options=ports) as zonal:
            yield Stage(zonal, ManifestFolder(place / "manifests"), port)
    assert ledger.doubled_posts == ledger.wrong_bodies == []


@pytest.mark.alone  # beside the whole suite, its times were those of the suite
@in_one_of_three
async def test_none_of_them_harms_the_modest_tenant(tmp_path: Path, judge_times: bool) -> None:
    async with _staged(tmp_path) as stage:
        port = stage.zonal.http_port
        loads = {name: (Load(port, prefix="/modest"), Load(port, prefix="/modest")) for name in ROWS}
        for _ in range(_ROUNDS):
            for name, greedy in ROWS.items():
                alone, beside = loads[name]
                await alone.steady(rate=_RATE, seconds=_ROUND_SECONDS)
                async with greedy(stage):
                    await beside.steady(rate=_RATE, seconds=_ROUND_SECONDS)
        for alone, beside in loads.values():
            assert_unharmed(beside, alone, judge_times)
