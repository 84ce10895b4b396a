"""Hostile tenants who harm with Secrets: crafted keys, endless chains, Secrets that are replaced and removed.

Responsible for their manifests and for the handshakes that use them.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterator

from tests.bench.chaos.actors import Actor, Turn
from tests.bench.chaos.crafted import Pair, made, with_huge_exponents, with_long_chain
from tests.bench.chaos.ground import Ground, heard, site
from tests.bench.chaos.handshakes import hello_of
from tests.fakes.clients import RawClient
from tests.integration.manifests import tls_secret

KEYS, CHAINS, SECRETS = "keys", "chains", "secrets"
_HOLD_SECONDS = 3.0
_RENEWALS = 8


class TenantsOfSecrets:
    """Three namespaces with a host each."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._tls = ground.client_tls()
        self._keys: Iterator[Pair] = iter(())
        self._chain = with_long_chain(f"{CHAINS}.test")
        self._renewals = [Pair(*ground.issued(f"{SECRETS}.test")) for _ in range(_RENEWALS)]

    async def start(self) -> None:
        """Make the keys, which takes seconds, and write the first manifests."""
        host = f"{KEYS}.test"
        large, _ = await asyncio.to_thread(made, 8192, host)
        self._keys = itertools.cycle((with_huge_exponents(host), large))
        self._write(KEYS, large)
        self._write(CHAINS, self._chain)
        self._write(SECRETS, self._renewals[0])

    def actors(self) -> tuple[Actor, ...]:
        return (
            Actor("crafted keys", "tenant", self.keys, pause_seconds=5.0),
            Actor("long chains", "tenant", self.chains, pause_seconds=5.0),
            Actor("secrets that come and go", "tenant", self.secrets, pause_seconds=2.0),
        )

    async def keys(self, turn: Turn) -> None:
        """A handshake that needs the key of the turn before, which is served by now, and then the other key."""
        await self._shake(turn, KEYS)
        self._write(KEYS, next(self._keys))
        turn.count("changes")

    async def chains(self, turn: Turn) -> None:
        """Handshakes whose answers of hundreds of KiB nobody reads."""
        self._write(CHAINS, self._chain)
        turn.count("changes")
        await asyncio.gather(*(self._shake(turn, CHAINS) for _ in range(10)))

    async def secrets(self, turn: Turn) -> None:
        """Replaced, spoilt or removed."""
        pair = turn.dice.choice(self._renewals)
        match turn.dice.randrange(4):
            case 0:
                self._ground.remove(f"{SECRETS}-secret")
            case 1:
                self._write(SECRETS, Pair(pair.chain[:-40], pair.key))
            case 2:
                self._write(SECRETS, Pair(pair.chain, self._renewals[0].key))
            case _:
                self._write(SECRETS, pair)
        turn.count("changes")
        await self._shake(turn, SECRETS)

    def _write(self, name: str, pair: Pair) -> None:
        self._ground.write(f"{name}-secret", tls_secret("own", chain=pair.chain, key=pair.key, namespace=name))
        self._ground.write(name, *site(name, [self._ground.honest], secret="own"))

    async def _shake(self, turn: Turn, name: str) -> None:
        """A hello with the name; what comes back is read, or left in the kernel until the connection is cut."""
        turn.count("handshakes")
        async with RawClient(self._ground.https_port, buffer_bytes=4096) as client:
            client.send(hello_of(self._tls, f"{name}.test"))
            if turn.dice.random() < 0.5:
                client.stop_reading()
                await asyncio.sleep(turn.dice.uniform(0.1, _HOLD_SECONDS))
            else:
                await heard(client, seconds=_HOLD_SECONDS)
