"""Plays one case in one way and keeps what was seen on every side of the proxy. It judges nothing."""

from __future__ import annotations

import asyncio
import itertools
import socket
import struct
import time
from contextlib import suppress
from typing import Any

from tests.features.http_cases.backends import Visit
from tests.features.http_cases.cases import Act, Case, Pause, Send, Way, cut
from tests.features.http_cases.messages import Message, Reader
from tests.features.http_cases.stage import Stage

PATIENCE_SECONDS = 4.0  # longer than any deadline of the stage
FIN_SECONDS = 1.0  # the file's own figure
_PLAY_SECONDS = 6.0  # for what a case sends: dripping goes on for hours if it is let
_HEAVY_SECONDS = 120.0  # for the one answer to a million chunks, for which the proxy works for seconds
_PIECE = 256 * 1024
_SLOW_SECONDS = 4.0  # how long a slow or dead reader stays so
TUNNEL_DATA = {
    "UPG-01": b"\x81\x85abcd\x09\x07\x0f\x08\x0e",
    "UPG-13": b"\xf2\x7f" + bytes(range(256)) * (16 * 1024 * 1024 // 256),
}
"""What a client sends once a tunnel is open; it must come back as it is."""

_numbers = itertools.count(256)


class Play:
    """What was seen of one case in one way."""

    def __init__(self, case: Case, way: Way, address: str) -> None:
        self.case = case
        self.way = way
        self.address = address
        self.received = Reader(
            bodiless=b"HEAD " in case.client_request.encode()[:5] or (case.raw or "").startswith("HEAD ")
        )
        self.ended = "open"  # or fin, reset
        self.answered_at = self.ended_at = self.stopped_at = 0.0
        self.started_at = asyncio.get_running_loop().time()
        self.interim_before_body = False
        self.requests: list[tuple[Visit, Message]] = []
        self.visits: list[Visit] = []
        self.stray = b""
        self.clean: Play | None = None
        self.probe: Play | None = None
        self.proxy_cpu_seconds = self.own_cpu_seconds = self.longest_stall_seconds = 0.0
        self.growth_bytes = 0
        self.patience_seconds, self.sending_seconds = PATIENCE_SECONDS, _PLAY_SECONDS
        self.access: list[dict[str, Any]] = []
        self.access_text = ""
        self.stderr = ""

    @property
    def responses(self) -> list[Message]:
        """The final responses."""
        return [message for message in self.received.messages if message.status >= 200 or message.status == 101]

    @property
    def interims(self) -> list[Message]:
        return [message for message in self.received.messages if 100 <= message.status < 200 and message.status != 101]

    @property
    def message(self) -> Message:
        """The one message that the hostile side's message became: at the endpoint, or at the client."""
        return self.responses[0] if self.case.side == "response" else self.requests[0][1]


class _Client:
    """One connection of a play."""

    def __init__(self, play: Play, connection: socket.socket) -> None:
        self._play = play
        self._connection = connection
        self._loop = asyncio.get_running_loop()
        self._may_read = asyncio.Event()
        self._may_read.set()
        self._news = asyncio.Event()
        self._slow: tuple[int, float] | None = None
        self.reading = self._loop.create_task(self._read())

    async def _read(self) -> None:
        play, loop = self._play, self._loop
        try:
            while True:
                await self._may_read.wait()
                size, pause = self._slow or (_PIECE, 0.0)
                data = await loop.sock_recv(self._connection, size)
                if not data:
                    play.ended = "fin"
                    play.received.end()
                    break
                play.received.feed(data)
                play.answered_at = loop.time()
                self._news.set()
                if pause:
                    await asyncio.sleep(pause)
        except ConnectionError:
            play.ended = "reset"
        play.ended_at = loop.time()
        self._news.set()

    @property
    def is_out_of_patience(self) -> bool:
        return self._loop.time() - self._play.started_at > self._play.sending_seconds

    async def send(self, data: bytes) -> None:
        with suppress(ConnectionError):  # refused before it was all sent, which is for the judge
            await self._loop.sock_sendall(self._connection, data)

    async def act(self, act: Act) -> None:
        if act.name == "FIN":
            self.half_close()
        elif act.name == "RST":
            self._connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            await self.close()
            self._play.stopped_at = self._loop.time()
        elif act.name == "READ":
            size, _, every = act.argument.partition(":")
            self._slow = int(size), int(every) / 1000 * 0.1
            await asyncio.sleep(_SLOW_SECONDS)
            self._slow = None
        else:
            assert act.name == "BLACKHOLE"
            self._may_read.clear()
            await asyncio.sleep(_SLOW_SECONDS)
            self._may_read.set()

    def half_close(self) -> None:
        with suppress(OSError):  # already gone
            self._connection.shutdown(socket.SHUT_WR)

    async def answer(self, seconds: float) -> None:
        """Wait for a whole final response, or the end."""
        await self._until(
            lambda: any(response.complete or response.status == 101 for response in self._play.responses), seconds
        )

    async def end(self, seconds: float) -> None:
        """Wait for the other side's end."""
        await self._until(lambda: False, seconds)

    async def tunnelled(self, size: int) -> None:
        """Wait for that many bytes through the tunnel, or the end."""
        await self._until(lambda: len(self._play.received.tunnel or b"") >= size, PATIENCE_SECONDS)

    async def _until(self, is_so: Any, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                while not is_so() and not self.reading.done():
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            pass

    async def close(self) -> None:
        """Close without a word: FIN, or RST where bytes were left unread."""
        self.reading.cancel()
        await asyncio.wait({self.reading})  # the loop must have let go of the descriptor before it is closed
        self._connection.close()


async def connected(play: Play, port: int, *, narrow: bool = False) -> _Client:
    """A connection from the play's own address."""
    connection = socket.socket()
    connection.setblocking(False)
    if narrow:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 512)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.bind((play.address, 0))
    try:
        await asyncio.get_running_loop().sock_connect(connection, ("127.0.0.1", port))
    except BaseException:
        connection.close()
        raise
    return _Client(play, connection)


def new_play(case: Case, way: Way) -> Play:
    """A play with an address in 127.0.0.0/8 that no other has: not 127.0.0.1, which spoofed fields name."""
    number = next(_numbers)
    return Play(case, way, f"127.{1 + number // 65536}.{number // 256 % 256}.{number % 256}")


async def play_case(stage: Stage, case: Case, way: Way, *, watch_stalls: bool = False) -> Play:
    """Play `case` in one way, then send a clean request on a new connection."""
    play = new_play(case, way)
    if watch_stalls:
        play.patience_seconds = play.sending_seconds = _HEAVY_SECONDS
    own, proxy = time.process_time(), stage.cpu_seconds()
    stage.forget_peak()
    resident = stage.resident_bytes()
    visits = {visit: len(visit.reader.rubbish) for backend in stage.backends.values() for visit in backend.visits}
    over = asyncio.Event()
    watching = asyncio.create_task(_watch(stage, play, over)) if watch_stalls else None
    await _converse(stage, play)
    over.set()
    if watching is not None:
        await watching
    play.growth_bytes = stage.peak_bytes() - resident
    play.own_cpu_seconds, play.proxy_cpu_seconds = time.process_time() - own, stage.cpu_seconds() - proxy
    _gather(stage, play, visits)
    play.clean = await ask(stage, b"GET /clean HTTP/1.1\r\nHost: app.test\r\n\r\n")
    if case.id == "FWD-14":
        play.probe = await ask(stage, b"GET /redirect HTTP/1.1\r\nHost: app.test\r\nAuthorization: Bearer t\r\n\r\n")
    return play


async def ask(stage: Stage, request: bytes) -> Play:
    """A request beyond reproach, on a connection and from an address of its own."""
    play = new_play(_CLEAN, Way.ONE_WRITE)
    client = await connected(play, stage.zonal.http_port)
    try:
        await client.send(request)
        await client.answer(PATIENCE_SECONDS)
    finally:
        await client.close()
    _gather(stage, play, {})
    return play


_CLEAN = Case(id="clean", side="request", category="", title="", accept=[])


async def _converse(stage: Stage, play: Play) -> None:
    case = play.case
    steps = case.steps
    if case.side == "response":
        stage.scripts[play.address.encode()] = steps, play.way, case.id
        steps = (Send((case.client_request.encode("latin-1"),)),)
    client = await connected(play, stage.zonal.http_port, narrow=case.id == "SLOW-04")
    way = Way.ONE_WRITE if case.side == "response" else play.way
    for number, step in enumerate(steps):
        if client.reading.done():
            break
        if isinstance(step, Send):
            play.interim_before_body = number > 0 and bool(play.interims)
            await _send(client, step, way=way, seed=case.id)
        elif isinstance(step, Pause):
            await client.end(min(step.seconds, _PLAY_SECONDS))
        else:
            await client.act(step)
    if play.stopped_at:
        await asyncio.sleep(FIN_SECONDS)
    else:
        if case.raw == "":
            client.half_close()
        await _see_it_out(client, play)
    if case.side == "response":
        await asyncio.sleep(sum(step.seconds for step in case.steps if isinstance(step, Pause)))
    await client.close()


async def _send(client: _Client, step: Send, *, way: Way, seed: str) -> None:
    for piece in step.pieces:
        for part in cut(piece, way, seed=seed) if step.every_seconds is None else (piece,):
            if client.reading.done() or client.is_out_of_patience:
                return
            await client.send(part)
            await asyncio.sleep(0 if step.every_seconds is None or step.every_seconds < 0.001 else step.every_seconds)


async def _see_it_out(client: _Client, play: Play) -> None:
    await client.answer(play.patience_seconds)
    if play.responses and play.responses[-1].status == 101:
        data = TUNNEL_DATA.get(play.case.id, b"")
        await client.send(data)
        await client.tunnelled(len(data))
        if not data:
            await client.end(PATIENCE_SECONDS)
    elif play.responses and play.responses[-1].ends_connection:
        await client.end(FIN_SECONDS)
    elif play.responses:
        client.half_close()  # all that the proxy still has to say is said before it ends as well
        await client.end(PATIENCE_SECONDS)


async def _watch(stage: Stage, play: Play, over: asyncio.Event) -> None:
    """Ask again and again, and keep the longest time that the process was busy while a request waited.

    Its own processor time, not the clock: a busy machine is not the proxy's fault.
    """
    while not over.is_set():
        started, cpu = time.monotonic(), stage.cpu_seconds()
        await ask(stage, b"GET /clean HTTP/1.1\r\nHost: app.test\r\n\r\n")
        stall = min(time.monotonic() - started, stage.cpu_seconds() - cpu)
        play.longest_stall_seconds = max(play.longest_stall_seconds, stall)
        await asyncio.sleep(0.005)


def _gather(stage: Stage, play: Play, before: dict[Visit, int]) -> None:
    address = play.address.encode()
    for backend in stage.backends.values():
        mine = backend.requests(lambda request: request.value(b"x-real-ip") == address)
        play.requests += mine
        play.visits += dict.fromkeys(visit for visit, _ in mine)
        play.stray += b"".join(visit.reader.rubbish[before.get(visit, 0) :] for visit in backend.visits)
        play.stray += b"".join(visit.reader.partial_head for visit in backend.visits)
