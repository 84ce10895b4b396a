"""Hostile endpoints that speak HTTP/1: each breaks its answers in one way. Clients ask for all of them.

Responsible for what they answer, and for the Services that they belong to.
"""

from __future__ import annotations

import asyncio
import random
from contextlib import AsyncExitStack

from tests.bench.chaos.actors import Actor, Turn
from tests.bench.chaos.ground import Ground, heard, site
from tests.fakes.clients import RawClient
from tests.fakes.endpoints import Script, ScriptedEndpoint, Visit
from tests.features.faults.stage import Place
from tests.features.fuzz.mutating import Mutator

_OK = b"HTTP/1.1 200 OK\r\n"
_DRIPS = 60
_DRIP_SECONDS = 0.1
_SILENT_SECONDS = 10.0
_HEARD_SECONDS = 3.0
_FORGET_SECONDS = 1.0
_TUNNEL = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"

_ANSWERS = {
    "garbage": b"\x00\xff not HTTP\r\n\r\n",
    "early-hints": b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" * 5_000,
    "oversize": _OK + b"X-A: " + b"a" * 200_000 + b"\r\n\r\n",
    "many-fields": _OK + b"X-A: b\r\n" * 10_000 + b"\r\n",
    "too-long": _OK + b"Content-Length: 5\r\n\r\nhello" + b"x" * 100_000,
    "too-short": _OK + b"Content-Length: 500000\r\n\r\nhello",
    "bad-chunks": _OK + b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\nhello",
    "trailers": _OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n" + b"X-User: root\r\n" * 1_000 + b"\r\n",
    "two-lengths": _OK + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
    "split": _OK + b"X-A: b\nSet-Cookie: c=d\r\nContent-Length: 0\r\n\r\n",
    "unasked-tunnel": _TUNNEL + b"hello",
    "unasked-continue": b"HTTP/1.1 100 Continue\r\n\r\n" + _OK + b"Content-Length: 0\r\n\r\n",
    "without-end": _OK + b"\r\n" + b"x" * 100_000,
}
"""What is answered by endpoints that close behind it, by their names."""


def _saying(answer: bytes) -> Script:
    async def script(visit: Visit) -> None:
        await visit.head()
        await visit.send(answer)

    return script


def _cut(*parts: bytes) -> Script:
    """Resets behind the last part."""

    async def script(visit: Visit) -> None:
        await visit.head()
        for part in parts:
            await visit.send(part)
        visit.reset()

    return script


async def _reset_at_once(visit: Visit) -> None:
    visit.reset()


async def _dripping(visit: Visit) -> None:
    await visit.head()
    await visit.send(_OK + b"Content-Length: 600\r\n\r\n")
    for _ in range(_DRIPS):
        await visit.send(b"x")
        await asyncio.sleep(_DRIP_SECONDS)


async def silent(visit: Visit) -> None:
    """Take a request, and say nothing about it."""
    await visit.head()
    await asyncio.sleep(_SILENT_SECONDS)


async def _tunnelling(visit: Visit) -> None:
    """A tunnel that echoes for a while, and is then reset."""
    await visit.head()
    await visit.send(_TUNNEL)
    for _ in range(5):
        await visit.send((await visit.some())[::-1])
    visit.reset()


def _mutating(dice: random.Random) -> Script:
    mutator = Mutator(dice, "response")

    async def script(visit: Visit) -> None:
        while True:
            await visit.head()
            await visit.send(mutator.next())

    return script


def scripts(dice: random.Random) -> dict[str, Script]:
    """What each endpoint does, by its name."""
    return {
        **{name: _saying(answer) for name, answer in _ANSWERS.items()},
        "reset": _reset_at_once,
        "reset-in-head": _cut(_OK[:12]),
        "reset-in-body": _cut(_OK + b"Content-Length: 50\r\n\r\nhello"),
        "reset-in-chunk": _cut(_OK + b"Transfer-Encoding: chunked\r\n\r\n", b"ff\r\nhello"),
        "drip": _dripping,
        "silent": silent,
        "mutations": _mutating(dice),
    }


class BrokenEndpoints:
    """A namespace for each of them, with the honest endpoint beside it in the same Service."""

    def __init__(self, ground: Ground, *, seed: int) -> None:
        self._ground = ground
        self._scripts = scripts(random.Random(seed))
        self.hosts: list[str] = []
        self._endpoints: list[ScriptedEndpoint] = []

    async def start(self, stack: AsyncExitStack) -> None:
        """Start them all and write their manifests. The last one is not there: its port refuses."""
        started = {}
        for name, script in self._scripts.items():
            started[name] = await self._started(stack, script)
        gone = await self._started(stack, silent)
        await gone.stop()
        tunnel = await self._started(stack, _tunnelling)
        places = {name: Place("127.0.0.1", each.port) for name, each in {**started, "refusing": gone}.items()}
        for name, place in places.items():
            self.hosts.append(f"{name}.broken.test")
            both = [place, self._ground.honest]
            self._ground.write(f"broken-{name}", *site(f"broken-{name}", both, host=self.hosts[-1]))
        self._ground.write("tunnel", *site("tunnel", [tunnel]))
        forgetting = asyncio.create_task(self._forget())
        stack.callback(forgetting.cancel)

    def actors(self) -> tuple[Actor, ...]:
        return (Actor("broken endpoints", "endpoint", self.ask, pause_seconds=0.1, at_once=10),)

    async def ask(self, turn: Turn) -> None:
        """One request to one of them; whatever becomes of it."""
        host = turn.dice.choice(self.hosts)
        turn.count("requests")
        async with RawClient(self._ground.http_port) as client:
            body = turn.dice.choice(("", "", "Content-Length: 5\r\n"))
            client.send(f"{'POST' if body else 'GET'} /x HTTP/1.1\r\nHost: {host}\r\n{body}\r\n".encode())
            client.send(b"hello" if body else b"")
            await heard(client, seconds=turn.dice.uniform(0.1, _HEARD_SECONDS))

    async def _started(self, stack: AsyncExitStack, script: Script) -> ScriptedEndpoint:
        self._endpoints.append(await stack.enter_async_context(ScriptedEndpoint(_patient(script))))
        return self._endpoints[-1]

    async def _forget(self) -> None:
        """What endpoints remember of their connections would add up."""
        while True:
            await asyncio.sleep(_FORGET_SECONDS)
            for each in self._endpoints:
                each.visits.clear()


def _patient(script: Script) -> Script:
    """The same, where heads too long for an endpoint end a connection."""

    async def patient(visit: Visit) -> None:
        try:
            await script(visit)
        except asyncio.LimitOverrunError:
            visit.reset()

    return patient
