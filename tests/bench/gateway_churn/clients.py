"""Clients with kept connections, which ask for routes at a pace and judge each answer.

A request whose kept connection broke before an answer is sent on a new one, and once more if that breaks as well, as
clients do with a GET (RFC 9110 9.2.2): at any replica that runs.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

_ANSWER_SECONDS = 30.0
_NOBODY = "-1.-1"
_ATTEMPTS = 3  # on a kept connection, and twice on a new one


class Asked(NamedTuple):
    """What a request was for: the route's number, and whether that stays."""

    route: int
    stays: bool
    listener: int


class Seen:
    """What became of all requests. `wrong` and `failed` are texts, a few of them. `broken` counts the attempts for
    routes that stay which got no answer, by how they ended.
    """

    def __init__(self) -> None:
        self.outcomes: Counter[str] = Counter()
        self.broken: Counter[str] = Counter()
        self.seconds: list[float] = []
        self.wrong: list[str] = []
        self.failed: list[str] = []
        self.begun = time.monotonic()

    def note(self, asked: Asked, status: int, served_by: str, versions: range, seconds: float) -> None:
        """Notes an answer. `versions` are those that the route had at some moment of the request."""
        number, _, version = served_by.partition(".")
        self.seconds.append(seconds)
        if status == 200 and (int(number) != asked.route or int(version) not in versions):
            self.outcomes["wrong"] += 1
            self.wrong.append(f"route {asked.route} was answered by {served_by}, not by one of {versions}")
        elif status == 200:
            self.outcomes["answered"] += 1
        elif asked.stays:
            self.fail(asked, f"status {status}")
        else:
            self.outcomes["gone" if status == 404 else f"status {status}"] += 1

    def fail(self, asked: Asked, why: str) -> None:
        """Notes a request without an answer."""
        self.outcomes["failed" if asked.stays else "refused"] += 1
        if asked.stays:
            self.failed.append(f"{time.monotonic() - self.begun:.1f} s: route {asked.route}: {why}")


class Clients:
    """Sends requests until it is cancelled. `place_of` says where a listener of a replica is, `versions_of` which
    versions a route may have now; `replicas` are those that run.
    """

    def __init__(
        self,
        seen: Seen,
        choose: Callable[[], Asked],
        place_of: Callable[[int, int], tuple[str, int]],
        versions_of: Callable[[int], range],
        replicas: list[int],
    ) -> None:
        self._seen = seen
        self._choose = choose
        self._place_of = place_of
        self._versions_of = versions_of
        self._replicas = replicas
        self._idle: dict[tuple[str, int], list[tuple[asyncio.StreamReader, asyncio.StreamWriter]]] = {}
        self._under_way: set[asyncio.Task[None]] = set()

    async def run(self, rate: int) -> None:
        """Begins `rate` requests a second."""
        begun, count = time.monotonic(), 0
        try:
            while True:
                due = int((time.monotonic() - begun) * rate)
                for _ in range(min(due - count, rate)):
                    task = asyncio.create_task(self._ask(self._choose()))
                    self._under_way.add(task)
                    task.add_done_callback(self._under_way.discard)
                count = due
                await asyncio.sleep(0.01)  # the pace of the load, not a wait for a state
        finally:
            await asyncio.gather(*self._under_way, return_exceptions=True)
            for kept in self._idle.values():
                for _, writer in kept:
                    writer.transport.abort()

    async def _ask(self, asked: Asked) -> None:
        before, started = self._versions_of(asked.route), time.monotonic()
        why = ""
        for attempt in range(_ATTEMPTS):
            replica = random.choice(self._replicas)
            try:
                async with asyncio.timeout(_ANSWER_SECONDS):
                    status, served_by = await self._exchange(self._place_of(replica, asked.listener), asked, attempt)
            except (OSError, EOFError, TimeoutError, ValueError) as error:
                why += f"{_told(error)} at replica {replica} after {time.monotonic() - started:.1f} s; "
                if asked.stays:
                    self._seen.broken[_told(error)] += 1
                continue
            after = self._versions_of(asked.route)
            versions = range(before.start, after.stop)
            return self._seen.note(asked, status, served_by, versions, time.monotonic() - started)
        self._seen.fail(asked, why)

    async def _exchange(self, place: tuple[str, int], asked: Asked, attempt: int) -> tuple[int, str]:
        kept = self._idle.setdefault(place, [])
        is_kept = bool(kept) and not attempt
        try:
            reader, writer = kept.pop() if is_kept else await asyncio.open_connection(*place)
        except OSError as error:
            error.add_note("while it connected")
            raise
        try:
            status, lines = await _asked(reader, writer, asked.route)
        except BaseException as error:
            writer.transport.abort()
            error.add_note("on a kept connection" if is_kept else "on a new connection")
            raise
        if lines.get("connection") == "close":
            with suppress(OSError):
                writer.close()
        else:
            kept.append((reader, writer))
        return status, lines.get("x-route", _NOBODY)


async def ask_once(place: tuple[str, int], route: int) -> tuple[int, str]:
    """The status, and who answered, of one request for a route on a connection of its own."""
    reader, writer = await asyncio.open_connection(*place)
    try:
        status, lines = await _asked(reader, writer, route)
    finally:
        writer.transport.abort()
    return status, lines.get("x-route", _NOBODY)


async def _asked(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, route: int) -> tuple[int, dict[str, str]]:
    """Sends a request for a route. Returns the status and the fields of its answer, in lower case."""
    writer.write(f"GET / HTTP/1.1\r\nHost: h{route}.test\r\n\r\n".encode())
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
    lines = dict(line.split(": ", 1) for line in head.split("\r\n")[1:] if ": " in line)
    await reader.readexactly(int(lines.get("content-length", "0")))
    return int(head.split(" ", 2)[1]), lines


def _told(error: BaseException) -> str:
    return " ".join((type(error).__name__, *getattr(error, "__notes__", ())))
