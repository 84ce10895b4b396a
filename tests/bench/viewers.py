"""What open pages cost: the parent's processor time and the time of requests, in a large cluster.

Usage: python -m tests.bench.viewers [--seconds 8] [--rounds 7]. Serves 5,000 Ingresses with 20,000 endpoints in one
worker, and sends 300 requests a second to random ones. Each round has a turn without a page, one with one page, and one
with ten pages and one that takes nothing; every other round goes backwards. A turn is compared with the turn without a
page of the same round, so what else the machine does changes both. Printed are medians over the rounds.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import socket
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import aiohttp
from aiohttp import web

from tests.integration.manifests import ManifestFolder, config_map, ingress, ingress_class, path, rule, service
from tests.integration.running import Zonal, started

_SERVICES, _ENDPOINTS, _IN_A_FILE = 5000, 4, 500
_RATE = 300.0
_SETTLED_SECONDS = 3.0
_BODY = "x" * 200
_LOOK = """
import sys, urllib.request
with urllib.request.urlopen(sys.argv[1]) as page:
    while page.read1():
        pass
"""


class _Viewing(NamedTuple):
    """How many pages are open in a turn, and how many more that take nothing."""

    name: str
    pages: int
    stuck: int = 0


_NOBODY = _Viewing("no page", 0)
_TURNS = (_NOBODY, _Viewing("1 page", 1), _Viewing("10 pages, 1 stuck", 10, 1))


class _Turn(NamedTuple):
    """What a turn has measured: cores of the parent, seconds of requests."""

    cores: float
    p50: float
    p99: float


def main() -> None:
    """Prints a line for each number of pages."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.viewers")
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    rounds = asyncio.run(_measure(options.seconds, options.rounds))
    print(f"medians of {options.rounds} rounds; times also as multiples of the turn without a page of the same round")
    for viewing in _TURNS:
        print(_line(viewing, rounds))


def _line(viewing: _Viewing, rounds: Sequence[Mapping[_Viewing, _Turn]]) -> str:
    turns = [each[viewing] for each in rounds]
    cores = [turn.cores for turn in turns]
    parts = [f"{viewing.name:<18} parent {median(cores):.3f} cores (least {min(cores):.3f})"]
    for name in ("p50", "p99"):
        ratios = [getattr(each[viewing], name) / getattr(each[_NOBODY], name) for each in rounds]
        parts.append(f"{name} {median([getattr(turn, name) for turn in turns]) * 1000:.2f} ms, x{median(ratios):.2f}")
    return "  ".join(parts)


async def _measure(seconds: float, rounds: int) -> list[dict[_Viewing, _Turn]]:
    async with AsyncExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "manifests"
        port = await stack.enter_async_context(_endpoints())
        _write(place, port)
        arguments = ("--workers=1", "--zone=zone-a", "--shutdown-grace-period=0", "--access-log=off")
        zonal = await stack.enter_async_context(started(place, *arguments))
        await zonal.is_serving()
        await zonal.is_ready()
        client = await stack.enter_async_context(aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)))
        load = _Load(zonal, client, seconds)
        await load.run()  # warms up
        measured = []
        for number in range(rounds):
            turns = {}
            for viewing in _TURNS if number % 2 == 0 else reversed(_TURNS):
                async with _pages(zonal, viewing):
                    turns[viewing] = await load.run()
            measured.append(turns)
        return measured


class _Load:
    """Requests at a steady rate to a random host each."""

    def __init__(self, zonal: Zonal, client: aiohttp.ClientSession, seconds: float) -> None:
        self._zonal = zonal
        self._client = client
        self._seconds = seconds

    async def run(self) -> _Turn:
        times: list[float] = []
        began, cpu, sent = time.perf_counter(), _cpu_seconds(self._zonal.pid), 0
        async with asyncio.TaskGroup() as group:
            while time.perf_counter() - began < self._seconds:
                sent += 1
                await asyncio.sleep(max(0.0, began + sent / _RATE - time.perf_counter()))
                group.create_task(self._request(times))
        cores = (_cpu_seconds(self._zonal.pid) - cpu) / (time.perf_counter() - began)
        times.sort()
        return _Turn(cores, *(times[int(len(times) * share)] for share in (0.5, 0.99)))

    async def _request(self, times: list[float]) -> None:
        began = time.perf_counter()
        fields = {"Host": f"web-{random.randrange(_SERVICES):04}.test"}
        async with self._client.get(f"http://127.0.0.1:{self._zonal.http_port}/", headers=fields) as response:
            assert response.status == 200
            await response.read()
        times.append(time.perf_counter() - began)


@asynccontextmanager
async def _endpoints() -> AsyncIterator[int]:
    """One server that is every endpoint, because all addresses of 127.0.0.0/8 lead to it; its port."""

    async def answer(_request: web.BaseRequest) -> web.Response:
        return web.Response(text=_BODY)

    runner = web.ServerRunner(web.Server(answer))
    await runner.setup()
    await web.TCPSite(runner, "0.0.0.0", 0).start()
    try:
        yield int(runner.addresses[0][1])
    finally:
        await runner.cleanup()


def _write(place: Path, port: int) -> None:
    folder = ManifestFolder(place)
    folder.write("settings.yaml", ingress_class(), config_map(ssl_redirect="false", zone_aware_routing="true"))
    for first in range(0, _SERVICES, _IN_A_FILE):
        documents: list[dict[str, Any]] = []
        for number in range(first, first + _IN_A_FILE):
            name = f"web-{number:04}"
            documents += [service(name), ingress(name, rule(f"{name}.test", path("/", name))), _slice(number, port)]
        folder.write(f"part-{first}.json", *documents)


def _slice(number: int, port: int) -> dict[str, Any]:
    endpoints = [
        {
            "addresses": [f"127.{each + 1}.{number // 250}.{number % 250 + 1}"],
            "conditions": {"ready": True},
            "zone": f"zone-{'abc'[each % 3]}",
        }
        for each in range(_ENDPOINTS)
    ]
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "namespace": "shop",
            "name": f"web-{number:04}-1",
            "labels": {"kubernetes.io/service-name": f"web-{number:04}"},
        },
        "addressType": "IPv4",
        "ports": [{"name": "http", "port": port, "protocol": "TCP"}],
        "endpoints": endpoints,
    }


@asynccontextmanager
async def _pages(zonal: Zonal, viewing: _Viewing) -> AsyncIterator[None]:
    """So many pages, each that takes its events in a process of its own, so that they do not hold up the requests."""
    url = f"http://127.0.0.1:{zonal.admin_port}/ui/events"
    looking = [await asyncio.create_subprocess_exec(sys.executable, "-c", _LOOK, url) for _ in range(viewing.pages)]
    with ExitStack() as stack:
        for _ in range(viewing.stuck):
            stuck = stack.enter_context(socket.create_connection(("127.0.0.1", zonal.admin_port)))
            stuck.sendall(b"GET /ui/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        await asyncio.sleep(_SETTLED_SECONDS)
        try:
            yield
        finally:
            for process in looking:
                process.kill()
                await process.wait()


def _cpu_seconds(pid: int) -> float:
    """Processor time of one process, user and system (proc(5), stat)."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
