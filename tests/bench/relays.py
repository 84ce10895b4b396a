"""Measures the CPU of streams beside requests over HTTP/1.1, and beside splice, into docs/performance-relays.md.

What counts is the CPU time of the relaying process, so a busy machine changes the figures less than a clock would.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Final

from tests.fakes.sockets import free_ports
from tests.integration.manifests import (
    Document,
    ManifestFolder,
    config_map,
    endpoint_slice,
    ingress,
    ingress_class,
    path,
    rule,
    service,
)
from tests.integration.running import running

_PAGE: Final = Path(__file__).parents[2] / "docs" / "performance-relays.md"
_TICKS: Final = os.sysconf("SC_CLK_TCK")
_PIECE: Final = bytes(1 << 20)
_GIB: Final = 1 << 30
_HOST: Final = b"bulk.test"
_SPLICE: Final = """
import os, socket, sys
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
while True:
    client, _ = listener.accept()
    endpoint = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    client.recv(100)
    endpoint.sendall(b"stream")
    reading, writing = os.pipe()
    while moved := os.splice(endpoint.fileno(), writing, 1 << 20):
        while moved:
            moved -= os.splice(reading, client.fileno(), moved)
    for each in (reading, writing):
        os.close(each)
    endpoint.close()
    client.close()
"""


class Bulk:
    """An endpoint that sends `size` bytes, behind a head where it is asked in HTTP, and then closes."""

    def __init__(self) -> None:
        self.service, self.zone = "bulk", "zone-a"
        self.size = 0
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            connection, _ = self._listener.accept()
            threading.Thread(target=self._send, args=(connection,), daemon=True).start()

    def _send(self, connection: socket.socket) -> None:
        with connection:
            if connection.recv(4096).startswith(b"GET "):
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % self.size)
            left = self.size
            while left:
                left -= connection.send(_PIECE[:left])


def fetch(port: int, said: bytes) -> int:
    """Reads everything that comes after `said`. Returns the bytes."""
    received, room = 0, bytearray(1 << 20)
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(said)
        while count := connection.recv_into(room):
            received += count
    return received


def cpu_seconds(pid: int) -> float:
    """What a process has used so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def cost(pid: int, work: Callable[[], None]) -> float:
    """The CPU seconds of a process for some work."""
    before = cpu_seconds(pid)
    work()
    return cpu_seconds(pid) - before


@contextmanager
def splicing(target: int) -> Iterator[tuple[int, int]]:
    """A process that relays by splice alone: its id and port."""
    with subprocess.Popen([sys.executable, "-c", _SPLICE, str(target)], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.pid, int(process.stdout.readline())
        finally:
            process.kill()


def objects(bulk: Bulk) -> list[Document]:
    lines = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "tcp", "namespace": "edge"}}
    return [
        config_map(),
        ingress_class(),
        {**lines, "data": {"9000": "shop/bulk:80"}},
        ingress("bulk", rule(_HOST.decode(), path("/", "bulk"))),
        service("bulk"),
        endpoint_slice(bulk),
    ]


async def measured(*, gibibytes: int, connections: int, rounds: int) -> dict[str, tuple[float, float]]:
    """By way: CPU seconds of a GiB, and CPU microseconds of a connection with a few bytes. Medians of rounds."""
    bulk = Bulk()
    (port,) = free_ports(1)
    request = b"GET / HTTP/1.1\r\nHost: %b\r\nConnection: close\r\n\r\n" % _HOST
    found: dict[str, list[tuple[float, float]]] = {}
    with tempfile.TemporaryDirectory() as place, splicing(bulk.port) as (splicer, spliced):
        folder = ManifestFolder(Path(place) / "manifests")
        folder.write("all.json", *objects(bulk))
        options = (
            "--tcp-services-configmap=edge/tcp",
            f"--gateway-ports=9000={port}",
            "--gateway-addresses=none",
            "--access-log=off",
        )
        async with running(folder.place, *options) as zonal:
            ways = {
                "stream": (zonal.pid, port, b"stream"),
                "request over HTTP/1.1": (zonal.pid, zonal.http_port, request),
                "splice, in a process of its own": (splicer, spliced, b"stream"),
            }
            for _ in range(rounds):
                for name, (pid, at, said) in ways.items():

                    def repeat(times: int, at: int = at, said: bytes = said) -> None:
                        for _ in range(times):
                            assert fetch(at, said) >= bulk.size

                    bulk.size = _GIB
                    large = await asyncio.to_thread(cost, pid, lambda: repeat(gibibytes))
                    bulk.size = 100
                    small = await asyncio.to_thread(cost, pid, lambda: repeat(connections))
                    found.setdefault(name, []).append((large / gibibytes, small / connections * 1e6))
    return {name: (median(a for a, _ in each), median(b for _, b in each)) for name, each in found.items()}


def page(found: dict[str, tuple[float, float]], rounds: int) -> str:
    """The page, from what was measured."""
    load = os.getloadavg()[0]
    rows = [f"| {name} | {large:.2f} | {small:.0f} |" for name, (large, small) in found.items()]
    return "\n".join(
        (
            "# What streams cost",
            "",
            f"Made by `make bench-relays`; do not edit. {datetime.now(UTC):%Y-%m-%d %H:%M} UTC, {os.cpu_count()} cores,"
            f" load average {load:.2f}.",
            "",
            "CPU time of the relaying process, which also is the control plane (`--workers 0`), without an access log.",
            "The second column is for a GiB that an endpoint sends, the third for a new connection of a client and one",
            f"to an endpoint, with 100 bytes. Medians of {rounds} rounds, in which the ways take turns.",
            "",
            "| way | s of CPU for a GiB | µs of CPU for a connection |",
            "|---|---|---|",
            *rows,
            "",
            "Splice moves bytes in the kernel and copies nothing. A stream of zonal copies each byte in and out of the",
            "process, as a body over HTTP/1.1 does.",
            "",
        )
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="look only: fewer bytes and rounds, and no page")
    quick = parser.parse_args().quick
    rounds = 1 if quick else 5
    found = asyncio.run(measured(gibibytes=1, connections=200 if quick else 2000, rounds=rounds))
    text = page(found, rounds)
    print(text)
    if not quick:
        _PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
