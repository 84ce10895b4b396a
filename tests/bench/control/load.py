"""Requests at a steady rate to hosts in turn, each on a kept connection that is free, and how long each takes.

Runs as a process of its own, so that the API server beside it cannot hold it up. Open loop: requests are sent when
they are due, whether or not those before were answered, each on a connection that is free. Prints one JSON object.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence
from contextlib import suppress

import msgspec

from tests.bench.control.figures import percentile
from tests.bench.control.processes import go_first

_PATIENCE_SECONDS = 5.0
_OPEN_AT_FIRST = 16


class Latencies(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the requests; times in milliseconds, from when each was sent."""

    sent: int
    failed: int
    p50: float
    p99: float
    worst: float
    late: float
    """How late the generator itself was, of a hundred requests the latest but one: an honest run has little of it."""


class _Client(asyncio.Protocol):
    """One connection and the request on it."""

    def __init__(self, load: _Load) -> None:
        self._load = load
        self._transport: asyncio.Transport | None = None
        self._received = b""
        self._sent_at: float | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def ask(self, request: bytes, sent_at: float) -> None:
        self._sent_at, self._received = sent_at, b""
        assert self._transport is not None
        self._transport.write(request)

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, mark, body = self._received.partition(b"\r\n\r\n")
        length = head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0]
        if mark and self._sent_at is not None and len(body) >= int(length or b"0"):
            sent_at, self._sent_at = self._sent_at, None
            is_last = b"\r\nconnection: close" in head.lower()
            self._load.answered(self, sent_at, is_good=head.startswith(b"HTTP/1.1 200"), is_last=is_last)

    def connection_lost(self, error: Exception | None) -> None:
        self._load.lost(self, was_busy=self._sent_at is not None)


class _Load:
    def __init__(self, port: int, hosts: Sequence[str]) -> None:
        self._port = port
        self._requests = [b"GET / HTTP/1.1\r\nHost: %b\r\n\r\n" % each.encode() for each in hosts]
        self._loop = asyncio.get_running_loop()
        self._idle: list[_Client] = []
        self._connecting: set[asyncio.Task[None]] = set()
        self._failed = 0
        self._seconds: list[float] = []
        self._late: list[float] = []
        self._outstanding = 0
        self._over = asyncio.Event()

    async def run(self, *, rate: float, seconds: float) -> Latencies:
        for _ in range(_OPEN_AT_FIRST):
            self._idle.append(await self._connected())
        started, total = self._loop.time() + 0.1, int(rate * seconds)
        self._outstanding = total
        for number in range(total):
            due = started + number / rate
            if (wait := due - self._loop.time()) > 0:
                await asyncio.sleep(wait)
            self._late.append(1000 * max(0.0, -wait))
            self._send(self._requests[number % len(self._requests)], self._loop.time())
        with suppress(TimeoutError):
            async with asyncio.timeout(_PATIENCE_SECONDS):
                await self._over.wait()
        taken = [1000 * each for each in self._seconds] or [float("inf")]
        return Latencies(
            sent=total,
            failed=self._failed + self._outstanding,
            p50=percentile(taken, 0.5),
            p99=percentile(taken, 0.99),
            worst=max(taken),
            late=percentile(self._late, 0.99),
        )

    def answered(self, client: _Client, sent_at: float, *, is_good: bool, is_last: bool) -> None:
        """`is_last`: the proxy closes the connection, as it does after a thousand requests."""
        if is_good:
            self._seconds.append(self._loop.time() - sent_at)
        self._ended(not is_good)
        if not is_last:
            self._idle.append(client)

    def lost(self, client: _Client, *, was_busy: bool) -> None:
        if was_busy:
            self._ended(True)
        if client in self._idle:
            self._idle.remove(client)

    def _ended(self, failed: bool) -> None:
        self._failed += failed
        self._outstanding -= 1
        if not self._outstanding:
            self._over.set()

    def _send(self, request: bytes, sent_at: float) -> None:
        if self._idle:
            self._idle.pop().ask(request, sent_at)
            return
        task = self._loop.create_task(self._ask_anew(request, sent_at))
        self._connecting.add(task)
        task.add_done_callback(self._connecting.discard)

    async def _ask_anew(self, request: bytes, sent_at: float) -> None:
        try:
            client = await self._connected()
        except OSError:
            self._ended(True)
            return
        client.ask(request, sent_at)

    async def _connected(self) -> _Client:
        _, client = await self._loop.create_connection(lambda: _Client(self), "127.0.0.1", self._port)
        return client


async def measure(port: int, *, hosts: Sequence[str], rate: float, seconds: float) -> Latencies:
    """Requests to a port of loopback, `rate` each second, until all are answered or have waited for long."""
    return await _Load(port, hosts).run(rate=rate, seconds=seconds)


def main(arguments: Sequence[str]) -> None:
    """Send and report."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--rate", type=float, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    given = parser.parse_args(arguments)
    go_first()
    hosts = sys.stdin.read().split()
    latencies = asyncio.run(measure(given.port, hosts=hosts, rate=given.rate, seconds=given.seconds))
    print(msgspec.json.encode(latencies).decode())


if __name__ == "__main__":
    main(sys.argv[1:])
