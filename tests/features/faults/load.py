"""Requests at a steady rate, each with an id and each body with a hash, and the ledger of what reached the endpoints.

A request counts as failed if it is refused, reset, late, cut short, answered 5xx or with another request's body.
"""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import time
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import NamedTuple

from tests.fakes.clients import RawClient, Response
from tests.fakes.endpoints import Script, Visit
from tests.fakes.stopwatch import Stopwatch, unhurried

HOST = "app.test"
LATE_SECONDS = 5.0
Limit = Callable[[float], AbstractAsyncContextManager[object]]
"""Bounds a block to so many seconds, as `asyncio.timeout` does. Raises TimeoutError."""

_MIX = (1, 64, 1, 0, 1, 64, 1, 0, 64, 1)  # KiB of a GET: half 1, three of ten 64; 0 is a POST of 4 KiB
_POST_BYTES = 4 * 1024


def body_of(identity: str, size: int) -> bytes:
    """A body of `size` bytes that no other request has."""
    line = f"{identity}|".encode()
    return (line * (size // len(line) + 1))[:size]


def digest_of(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


class Asked(NamedTuple):
    """A request as an endpoint saw it; `size` is that of the body it asks for."""

    method: str
    identity: str
    size: int


class Ledger:
    """What arrived at all endpoints together."""

    def __init__(self) -> None:
        self.posts: Counter[str] = Counter()
        self.wrong_bodies: list[str] = []

    @property
    def doubled_posts(self) -> list[str]:
        return [identity for identity, count in self.posts.items() if count > 1]

    async def take(self, visit: Visit) -> Asked:
        """Read one request from a connection and note it."""
        head = (await visit.head()).decode("latin-1")
        visit.received = b""  # the marks of a long run would pile up
        method, target, _ = head.split(" ", 2)
        *_, size, identity = target.split("/")
        fields = dict(line.lower().split(": ", 1) for line in head.split("\r\n")[1:-2])
        if method == "POST":
            self.posts[identity] += 1
            body = await visit.exactly(int(fields["content-length"]))
            if digest_of(body) != fields["x-hash"]:
                self.wrong_bodies.append(identity)
        return Asked(method, identity, int(size))


def answer_to(asked: Asked, name: str) -> bytes:
    """The whole answer of the endpoint called `name`."""
    body = body_of(asked.identity, asked.size)
    return (
        f"HTTP/1.1 200 OK\r\nX-Id: {asked.identity}\r\nX-Hash: {digest_of(body)}\r\nX-Endpoint: {name}\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    ).encode() + body


def honest(ledger: Ledger, name: str = "honest", *, delay_seconds: float = 0.0) -> Script:
    """A script that answers everything as it should, `delay_seconds` after the request has come."""

    async def script(visit: Visit) -> None:
        while True:
            asked = await ledger.take(visit)
            if delay_seconds:
                await asyncio.sleep(delay_seconds)
            await visit.send(answer_to(asked, name))

    return script


def request_of(identity: str, size: int, *, prefix: str = "", post: bytes | None = None, fields: str = "") -> bytes:
    """A request for `size` bytes, or a POST of a body; `fields` are whole lines."""
    method = "GET" if post is None else "POST"
    sent = "" if post is None else f"Content-Length: {len(post)}\r\nX-Hash: {digest_of(post)}\r\n"
    head = f"{method} {prefix}/{size}/{identity} HTTP/1.1\r\nHost: {HOST}\r\n{sent}{fields}\r\n"
    return head.encode() + (post or b"")


class Answered(NamedTuple):
    """One request that was answered as it should: when it was sent (`time.monotonic`), and how long it took
    (`Stopwatch`, in seconds)."""

    sent_at: float
    seconds: float
    endpoint: str


class Load:
    """Clients with kept connections, as many as are needed. `failures` say what went wrong, and when.

    `limited` says when a request is late: by a `Stopwatch`, unless somebody puts another one here. `source` is the
    loopback address from which the clients come; empty: any.
    """

    def __init__(self, port: int, *, prefix: str = "", fields: str = "", keeps: bool = True, source: str = "") -> None:
        self._port = port
        self._prefix = prefix
        self._fields = fields
        self._keeps = keeps
        self._source = source
        self._numbers = itertools.count()
        self._idle: list[RawClient] = []
        self.answers: list[Answered] = []
        self.failures: list[str] = []
        self.limited: Limit = unhurried

    async def steady(self, *, rate: int, seconds: float) -> None:
        """Open loop: `rate` requests a second for `seconds`, whether or not the ones before were answered.

        A loop whose turns are slow sends all that are due in one turn, so it never lasts longer.
        """
        started = time.monotonic()
        async with asyncio.TaskGroup() as group:
            for number in range(int(rate * seconds)):
                if (early := started + number / rate - time.monotonic()) > 0:
                    await asyncio.sleep(early)
                group.create_task(self.ask(_MIX[number % len(_MIX)] * 1024))
        self.close()

    async def wave(self, count: int, *, posts: bool) -> None:
        """So many requests at once."""
        await asyncio.gather(*(self.ask(0 if posts else 1024) for _ in range(count)))

    async def ask(self, size: int) -> None:
        """A GET of `size` bytes, or a POST if it is 0, and all that there is to check about its answer."""
        identity = f"{id(self):x}-{next(self._numbers)}"
        post = None if size else body_of(identity, _POST_BYTES)
        sent_at, watch = time.monotonic(), Stopwatch()
        try:
            async with self.limited(LATE_SECONDS):
                request = request_of(identity, size, prefix=self._prefix, post=post, fields=self._fields)
                response = await self._answer(request)
        except (OSError, EOFError, TimeoutError) as error:
            self.failures.append(f"{identity} after {time.monotonic() - sent_at:.2f} s: {error!r}")
            return
        seconds = watch.seconds
        if response.status != 200:
            self.failures.append(f"{identity} after {seconds:.2f} s: status {response.status}")
        elif response.fields[b"x-id"].decode() != identity or response.body != body_of(identity, size):
            self.failures.append(f"{identity}: the answer to {response.fields[b'x-id']!r}")
        else:
            self.answers.append(Answered(sent_at, seconds, response.fields[b"x-endpoint"].decode()))

    def close(self) -> None:
        for client in self._idle:
            client.writer.close()
        self._idle.clear()

    def slow(self, seconds: float) -> list[Answered]:
        """The answers that took longer."""
        return [answer for answer in self.answers if answer.seconds > seconds]

    def percentile_seconds(self, share: float) -> float:
        """What `share` of the answers did not exceed."""
        times = sorted(answer.seconds for answer in self.answers)
        return times[min(int(len(times) * share), len(times) - 1)]

    async def _answer(self, request: bytes) -> Response:
        client = self._idle.pop() if self._idle else await self._connected()
        is_whole = False
        try:
            response = await client.ask(request)
            is_whole = self._keeps and response.fields.get(b"connection") != b"close"
        finally:
            if is_whole:
                self._idle.append(client)
            else:
                client.writer.close()
        return response

    async def _connected(self) -> RawClient:
        return await RawClient(self._port, source=self._source).__aenter__()
