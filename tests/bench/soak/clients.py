"""The clients of the soak: each kind of visit checks ids and hashes of all that it gets.

Responsible for sending and for judging answers. It must not know of workers or of what changes meanwhile.
"""

from __future__ import annotations

import asyncio
import itertools
import random
import socket
import ssl
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import NamedTuple

from tests.bench.soak.changes import FLIPPED_PATH, TRANSIENT_HOST
from tests.bench.soak.endpoints import chunks
from tests.bench.soak.tally import Failure, Tally
from tests.fakes.clients import RawClient, Response
from tests.features.faults.load import HOST, LATE_SECONDS, body_of, digest_of

_KIBIBYTE = 1024
_KEPT_REQUESTS = 50
_PIPELINED = 5
_MESSAGES = 30
_UPGRADE = "Connection: Upgrade\r\nUpgrade: websocket\r\n"
_CHUNKED = "Transfer-Encoding: chunked\r\n"
_REFUSED = (
    (f"GET /a%zz HTTP/1.1\r\nHost: {HOST}\r\n\r\n", 400),
    (f"GET / HTTP/1.1\r\nHost: {HOST}\r\nHost: other.test\r\n\r\n", 400),
    (f"POST / HTTP/1.1\r\nHost: {HOST}\r\nContent-Length: 1\r\n{_CHUNKED}\r\n", 400),
    (f"GET / HTTP/1.1\r\nHost: {HOST}\r\nnot a field\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: unknown.test\r\n\r\n", 404),
)
"""What no endpoint may see, and what it is answered."""


class Unexpected(Exception):
    """An answer that is not the one to the request."""


class Line(RawClient):
    """One connection, in TLS if there is a context; `local_port` is ours, 0 before it is connected.

    `source` as for `RawClient`.
    """

    def __init__(self, port: int, tls: ssl.SSLContext | None, *, source: str = "") -> None:
        super().__init__(port, source=source)
        self.local_port = 0
        self._to = port
        self._tls = tls

    async def connect(self) -> None:
        """Connect and shake hands. Raises OSError; the socket is closed then."""
        connection = socket.socket()
        try:
            connection.setblocking(False)
            if self._source:
                connection.bind((self._source, 0))
            await asyncio.get_running_loop().sock_connect(connection, ("127.0.0.1", self._to))
        except BaseException:
            connection.close()
            raise
        self.local_port = connection.getsockname()[1]
        name = HOST if self._tls else None
        # It closes the socket itself if it fails: a socket that is closed under its transport leaves the loop confused.
        self.reader, self.writer = await asyncio.open_connection(sock=connection, ssl=self._tls, server_hostname=name)

    def close(self) -> None:
        """At once, whatever is under way; a line that never was connected is closed already."""
        if hasattr(self, "writer"):
            self.writer.transport.abort()


class Round:
    """One visit: a line, and what was asked and answered on it."""

    def __init__(self, line: Line, names: Iterator[str], goes_on: Callable[[], Awaitable[bool]]) -> None:
        self.line = line
        self.asked = self.answered = self.uncounted = 0
        self.goes_on = goes_on
        self._names = names

    def identity(self) -> str:
        return next(self._names)

    async def ask(self, request: bytes, status: int = 200) -> Response:
        """One request and its answer."""
        self.send(request)
        return await self.answer(status)

    def send(self, request: bytes, *, count: int = 1) -> None:
        """Write so many requests, whose answers are to be awaited."""
        self.asked += count
        self.line.send(request)

    async def answer(self, *statuses: int) -> Response:
        """The next answer, which has one of these statuses."""
        async with asyncio.timeout(LATE_SECONDS):
            response = await self.line.response()
        self.answered += 1
        if response.status not in statuses:
            raise Unexpected(f"status {response.status}, not {statuses}")
        return response


def get(identity: str, size: int, *, host: str = HOST, prefix: str = "/plain", fields: str = "") -> bytes:
    """A request for a body of so many bytes."""
    return f"GET {prefix}/{size}/{identity} HTTP/1.1\r\nHost: {host}\r\n{fields}\r\n".encode()


def check(response: Response, identity: str, size: int, *, sent: bytes = b"") -> None:
    """Raise Unexpected unless it is the answer to this request and both bodies are whole."""
    if response.fields[b"x-id"].decode() != identity or response.body != body_of(identity, size):
        raise Unexpected(f"the answer to {response.fields[b'x-id']!r} for {identity}")
    if response.fields[b"x-received"].decode() != digest_of(sent):
        raise Unexpected(f"another body than {identity} sent")


async def _kept(round_: Round, *, size: int, prefix: str = "/plain") -> None:
    for _ in range(_KEPT_REQUESTS):
        identity = round_.identity()
        response = await round_.ask(get(identity, size, prefix=prefix))
        check(response, identity, size)
        if response.fields.get(b"connection") == b"close" or not await round_.goes_on():
            return


async def _small(round_: Round) -> None:
    await _kept(round_, size=_KIBIBYTE)


async def _large(round_: Round) -> None:
    await _kept(round_, size=256 * _KIBIBYTE)


async def _in_chunks(round_: Round) -> None:
    await _kept(round_, size=64 * _KIBIBYTE, prefix="/chunked")


async def _flipped(round_: Round) -> None:
    try:
        await _kept(round_, size=_KIBIBYTE, prefix=f"{FLIPPED_PATH}/plain")
    finally:
        round_.uncounted += round_.answered


async def _fresh(round_: Round) -> None:
    identity = round_.identity()
    check(await round_.ask(get(identity, _KIBIBYTE, fields="Connection: close\r\n")), identity, _KIBIBYTE)


async def _upload(round_: Round, *, size: int, is_chunked: bool = False) -> None:
    identity = round_.identity()
    body = body_of(f"of {identity}", size)
    framing = _CHUNKED if is_chunked else f"Content-Length: {size}\r\n"
    head = f"POST /plain/100/{identity} HTTP/1.1\r\nHost: {HOST}\r\n{framing}\r\n".encode()
    check(await round_.ask(head + (chunks(body) if is_chunked else body)), identity, 100, sent=body)


async def _uploads(round_: Round) -> None:
    for size in (4 * _KIBIBYTE, 1024 * _KIBIBYTE):
        await _upload(round_, size=size)
        if not await round_.goes_on():
            return


async def _uploads_in_chunks(round_: Round) -> None:
    await _upload(round_, size=256 * _KIBIBYTE, is_chunked=True)


async def _pipelined(round_: Round) -> None:
    identities = [round_.identity() for _ in range(_PIPELINED)]
    round_.send(b"".join(get(identity, _KIBIBYTE) for identity in identities), count=_PIPELINED)
    for identity in identities:
        check(await round_.answer(200), identity, _KIBIBYTE)


async def _tunnel(round_: Round) -> None:
    round_.send(get(round_.identity(), 0, fields=_UPGRADE))
    async with asyncio.timeout(LATE_SECONDS):
        head = await round_.line.head()
    if not head.startswith(b"HTTP/1.1 101 "):
        raise Unexpected(f"no tunnel: {head!r}")
    for _ in range(_MESSAGES):
        message = body_of(round_.identity(), 128)
        round_.line.send(message)
        async with asyncio.timeout(LATE_SECONDS):
            if await round_.line.reader.readexactly(len(message)) != message:
                raise Unexpected("another message")
        if not await round_.goes_on():
            break
    round_.answered += 1


async def _refused(round_: Round) -> None:
    number = int(round_.identity().rpartition("-")[2])
    request, status = _REFUSED[number % len(_REFUSED)]
    await round_.ask(request.encode(), status)


async def _transient(round_: Round) -> None:
    identity = round_.identity()
    round_.send(get(identity, _KIBIBYTE, host=TRANSIENT_HOST))
    response = await round_.answer(200, 404)
    if response.status == 200:
        round_.uncounted += 1
        check(response, identity, _KIBIBYTE)


async def _leaving(round_: Round) -> None:
    """A client that leaves amid an answer: it is counted as answered once its head has come."""
    round_.send(get(round_.identity(), 1024 * _KIBIBYTE))
    async with asyncio.timeout(LATE_SECONDS):
        await round_.line.head()
    round_.answered += 1
    round_.line.reset()


class Kind(NamedTuple):
    """What a client does with a connection, and how many clients do so."""

    name: str
    visit: Callable[[Round], Awaitable[None]]
    clients: int
    is_secure: bool = False


KINDS = (
    Kind("kept connection", _small, 6),
    Kind("256 KiB", _large, 2),
    Kind("answer in chunks", _in_chunks, 2),
    Kind("flipped route", _flipped, 3),
    Kind("new connection", _fresh, 6),
    Kind("upload", _uploads, 2),
    Kind("upload in chunks", _uploads_in_chunks, 1),
    Kind("pipelined", _pipelined, 2),
    Kind("TLS, kept", _small, 3, is_secure=True),
    Kind("TLS, new", _fresh, 3, is_secure=True),
    Kind("WebSocket", _tunnel, 4),
    Kind("WebSocket in TLS", _tunnel, 1, is_secure=True),
    Kind("refused", _refused, 2),
    Kind("host that comes and goes", _transient, 1),
    Kind("leaves amid the answer", _leaving, 1),
)


class Clients:
    """All clients. `rate` is about how many times a second one of them does something."""

    def __init__(self, http_port: int, https_port: int, tls: ssl.SSLContext, *, rate: float, seed: int) -> None:
        self.tally = Tally()
        self._ports = {False: http_port, True: https_port}
        self._tls = tls
        self._rate = rate / sum(kind.clients for kind in KINDS)
        self._random = random.Random(seed)
        self._names: Iterator[str] = (f"{seed:x}-{number}" for number in itertools.count())
        self._is_over = False

    async def run(self) -> None:
        """Until `finish`, when each client comes to the end of its visit after its next answer."""
        async with asyncio.TaskGroup() as group:
            for kind in KINDS:
                for _ in range(kind.clients):
                    group.create_task(self._repeat(kind))

    def finish(self) -> None:
        self._is_over = True

    async def _goes_on(self) -> bool:
        await asyncio.sleep(0.0 if self._is_over else self._random.expovariate(self._rate))
        return not self._is_over

    async def _repeat(self, kind: Kind) -> None:
        while await self._goes_on():
            line = Line(self._ports[kind.is_secure], self._tls if kind.is_secure else None)
            round_ = Round(line, self._names, self._goes_on)
            try:
                async with asyncio.timeout(LATE_SECONDS):
                    await line.connect()
                await kind.visit(round_)
            except (OSError, EOFError, TimeoutError, Unexpected) as error:
                lost = max(1, round_.asked - round_.answered)
                self.tally.failures.append(Failure(time.monotonic(), kind.name, line.local_port, lost, repr(error)))
            finally:
                line.close()
            self.tally.asked[kind.name] += round_.asked
            self.tally.answered[kind.name] += round_.answered
            self.tally.uncounted += round_.uncounted
