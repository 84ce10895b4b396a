"""Requests at a given rate, whatever the proxy does: one that finds no free connection waits, and its waiting counts.

A plain loop over `select`, whose time-out has microseconds; those of event loops have milliseconds. How late the loop
itself was is no latency of the proxy, but spoils the figures: it is measured, and too much of it is an error.
Arguments: port, host, requests a second, seconds, connections. Prints a `Load` as JSON.
"""

from __future__ import annotations

import gc
import os
import select
import socket
import sys
import time
from collections import deque
from contextlib import suppress
from random import Random

import msgspec

from tests.bench.peers.loads.answers import is_success, whole_bytes
from tests.bench.peers.loads.arrivals import arrivals, percentile
from tests.bench.peers.samples import Load

# Of what was due, this long is waited for at the end.
_PATIENCE_SECONDS = 2.0

# Beyond this, at the 99th percentile, the machine is too busy to say anything of a proxy's latency.
_LATENESS_SECONDS = 0.01
_PRIORITY = -10


class _Connection:
    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=5)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.setblocking(False)
        self.started = 0.0
        self.data = b""


class OpenLoop:
    """One run."""

    def __init__(self, port: int, host: str, *, connections: int) -> None:
        self._request = f"GET / HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()
        self._poll = select.epoll()
        self._connections = {each.socket.fileno(): each for each in (_Connection(port) for _ in range(connections))}
        self._free = list(self._connections.values())
        self._waiting: deque[float] = deque()
        self._latencies: list[float] = []
        self._lateness: list[float] = []
        self._failed = 0
        for number in self._connections:
            self._poll.register(number, select.EPOLLIN)

    def run(self, *, per_second: float, seconds: float) -> Load:
        """Blocks for as long; `seconds` of the answer are those in which requests arrived."""
        coming = arrivals(Random(1), per_second=per_second, seconds=seconds)
        started = time.perf_counter()
        due = next(coming, None)
        while due is not None:
            while due is not None and started + due <= time.perf_counter():
                self._arrive(started + due)
                due = next(coming, None)
            if due is not None:
                self._wait(started + due - time.perf_counter())
        end = time.perf_counter() + _PATIENCE_SECONDS
        while len(self._free) < len(self._connections) and time.perf_counter() < end:
            self._wait(0.05)
        return self._load(seconds)

    def _arrive(self, due: float) -> None:
        now = time.perf_counter()
        self._lateness.append(now - due)
        if self._free:
            self._send(self._free.pop(), now)
        else:
            self._waiting.append(now)

    def _send(self, connection: _Connection, started: float) -> None:
        connection.started = started
        connection.socket.send(self._request)

    def _wait(self, seconds: float) -> None:
        if select.select([self._poll], [], [], max(seconds, 0.0))[0]:
            for number, _ in self._poll.poll(0):
                self._read(self._connections[number])

    def _read(self, connection: _Connection) -> None:
        data = connection.socket.recv(65536)
        if not data:
            raise ConnectionError("the proxy ended a connection that was to be kept")
        connection.data += data
        length = whole_bytes(connection.data)
        if length is None or len(connection.data) < length:
            return
        self._latencies.append(time.perf_counter() - connection.started)
        self._failed += not is_success(connection.data)
        connection.data = b""
        if self._waiting:
            self._send(connection, self._waiting.popleft())
        else:
            self._free.append(connection)

    def _load(self, seconds: float) -> Load:
        late = percentile(sorted(self._lateness) or [0.0], 0.99)
        if late > _LATENESS_SECONDS:
            sys.exit(f"the load was {late * 1000:.0f} ms late (p99): the machine is too busy")
        unanswered = len(self._connections) - len(self._free) + len(self._waiting)
        latencies = sorted(self._latencies) or [_PATIENCE_SECONDS]
        return Load(
            requests=len(self._latencies) - self._failed,
            seconds=seconds,
            failed=self._failed + unanswered,
            p50_milliseconds=percentile(latencies, 0.5) * 1000,
            p99_milliseconds=percentile(latencies, 0.99) * 1000,
        )


def main() -> None:
    port, host, per_second, seconds, connections = sys.argv[1:]
    loop = OpenLoop(int(port), host, connections=int(connections))
    gc.disable()  # its pauses would be the proxy's
    with suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, _PRIORITY)  # endpoints on the same core would make it late
    load = loop.run(per_second=float(per_second), seconds=float(seconds))
    print(msgspec.json.encode(load).decode())


if __name__ == "__main__":
    main()
