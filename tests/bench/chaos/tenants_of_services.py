"""Hostile tenants whose Services and options cost: silent auth services and mirrors, retries, passwords, bodies.

Responsible for their manifests and for the requests that use them.
"""

from __future__ import annotations

import asyncio
import base64
from contextlib import AsyncExitStack

from tests.bench.chaos.actors import Actor, Turn
from tests.bench.chaos.broken_endpoints import silent
from tests.bench.chaos.ground import Ground, heard, site
from tests.fakes.clients import RawClient
from tests.fakes.endpoints import ScriptedEndpoint, answering
from tests.features.faults.stage import Place
from tests.integration.manifests import path

_HEARD_SECONDS = 4.0
_FORGET_SECONDS = 1.0
_BODY_BYTES = 900_000
_BODY_PIECE_BYTES = 50_000
_SLOW_HASH = "$6$rounds=20000$52KASokBDtjk4utK$" + "a" * 86  # no password fits
_EXPRESSION = "/[ab]*a[ab]{%d}c"
"""It has too many states for RE2 to remember, so a path of thousands of letters takes tens of milliseconds."""

_REPETITIONS = (200, 210, 220, 230)  # an expression may have 256 instructions
_LETTERS = 7_600
_BURST = 10


class TenantsOfServices:
    """A namespace for each way to be a burden."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._endpoints: list[ScriptedEndpoint] = []

    async def start(self, stack: AsyncExitStack) -> None:
        """Start what they need and write their manifests."""
        mute = await self._started(stack, ScriptedEndpoint(silent))
        failing = [
            await self._started(stack, ScriptedEndpoint(answering(b"HTTP/1.1 503 x\r\nContent-Length: 0\r\n\r\n")))
            for _ in range(3)
        ]
        mute_url = f"http://127.0.0.1:{mute.port}"
        self._site("mute-auth", {"auth-url": f"{mute_url}/auth", "auth-response-headers": "X-User"})
        self._site("mute-mirror", {"mirror-target": f"{mute_url}/copy$request_uri"})
        words = "error timeout http_503 non_idempotent"
        places = [Place("127.0.0.1", each.port) for each in failing]
        options = {"proxy-next-upstream": words, "proxy-next-upstream-tries": "0"}
        self._ground.write("retries", *site("retries", places, annotations=options))
        self._write_passwords()
        self._site("bodies", {"proxy-request-buffering": "on", "client-body-buffer-size": "1m"})
        paths = [path(_EXPRESSION % number, "app", kind="ImplementationSpecific") for number in _REPETITIONS]
        honest = [self._ground.honest]
        self._ground.write("expressions", *site("expressions", honest, paths=paths, annotations={"use-regex": "true"}))
        self._write_service_of_names("127.0.0.1")
        forgetting = asyncio.create_task(self._forget())
        stack.callback(forgetting.cancel)

    def actors(self) -> tuple[Actor, ...]:
        return (
            Actor("silent auth services", "tenant", self.mute_auth, pause_seconds=1.0),
            Actor("silent mirrors", "tenant", self.mute_mirror, pause_seconds=1.0),
            Actor("retries", "tenant", self.retries, pause_seconds=0.3),
            Actor("passwords", "tenant", self.passwords, pause_seconds=0.3),
            Actor("spooled bodies", "tenant", self.bodies, pause_seconds=0.5, at_once=10),
            Actor("expressions", "tenant", self.expressions, pause_seconds=0.5),
            Actor("names of auth services", "tenant", self.names, pause_seconds=1.0),
        )

    async def mute_auth(self, turn: Turn) -> None:
        await self._burst(turn, "mute-auth")

    async def mute_mirror(self, turn: Turn) -> None:
        await self._burst(turn, "mute-mirror", body=b"x" * 20_000)

    async def retries(self, turn: Turn) -> None:
        await self._burst(turn, "retries")

    async def passwords(self, turn: Turn) -> None:
        word = base64.b64encode(b"user:" + turn.dice.randbytes(12).hex().encode()).decode()
        await self._burst(turn, "passwords", fields=f"Authorization: Basic {word}\r\n")

    async def expressions(self, turn: Turn) -> None:
        """Three paths that no expression matches, and that each tries to its end."""
        target = "/" + "".join(turn.dice.choices("ab", k=_LETTERS))
        await self._burst(turn, "expressions", target=target, requests=3)

    async def bodies(self, turn: Turn) -> None:
        """A large body, piece by piece, of which some never end."""
        async with RawClient(self._ground.http_port) as client:
            client.send(f"POST / HTTP/1.1\r\nHost: bodies.test\r\nContent-Length: {_BODY_BYTES}\r\n\r\n".encode())
            turn.count("bodies")
            for _ in range(turn.dice.randint(1, _BODY_BYTES // _BODY_PIECE_BYTES)):
                client.send(bytes(_BODY_PIECE_BYTES))
                await client.writer.drain()
                await asyncio.sleep(turn.dice.uniform(0.0, 0.3))
            await heard(client, seconds=turn.dice.uniform(0.0, _HEARD_SECONDS))

    async def names(self, turn: Turn) -> None:
        """Another name for the auth service: local and numeric addresses, and names that nobody has."""
        unknown = f"x{turn.dice.randrange(10**6)}.invalid"
        numeric = ("127.1", "2130706433", "017700000001", "0x7f.1", "[::1]", "localhost", "0", "127.0.0.1.")
        self._write_service_of_names(turn.dice.choice((*numeric, unknown, unknown, unknown)))
        turn.count("changes")
        await self._burst(turn, "names")

    def _write_service_of_names(self, name: str) -> None:
        self._site("names", {"auth-url": f"http://{name}:{self._ground.endpoint.port}/auth"})

    def _write_passwords(self) -> None:
        secret = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "users", "namespace": "passwords"},
            "data": {"auth": base64.b64encode(f"user:{_SLOW_HASH}".encode()).decode()},
        }
        self._ground.write("passwords-secret", secret)
        self._site("passwords", {"auth-type": "basic", "auth-secret": "users"})

    def _site(self, name: str, annotations: dict[str, str]) -> None:
        self._ground.write(name, *site(name, [self._ground.honest], annotations=annotations))

    async def _burst(
        self, turn: Turn, name: str, *, requests: int = _BURST, target: str = "/x", fields: str = "", body: bytes = b""
    ) -> None:
        """Some requests beside each other."""
        await asyncio.gather(*(self._ask(turn, name, target, fields, body) for _ in range(requests)))

    async def _ask(self, turn: Turn, name: str, target: str, fields: str, body: bytes) -> None:
        method = "POST" if body else "GET"
        length = f"Content-Length: {len(body)}\r\n" if body else ""
        async with RawClient(self._ground.http_port) as client:
            client.send(f"{method} {target} HTTP/1.1\r\nHost: {name}.test\r\n{fields}{length}\r\n".encode() + body)
            turn.count("requests")
            await heard(client, seconds=turn.dice.uniform(0.1, _HEARD_SECONDS))

    async def _started(self, stack: AsyncExitStack, endpoint: ScriptedEndpoint) -> ScriptedEndpoint:
        self._endpoints.append(await stack.enter_async_context(endpoint))
        return endpoint

    async def _forget(self) -> None:
        while True:
            await asyncio.sleep(_FORGET_SECONDS)
            for each in self._endpoints:
                each.visits.clear()
