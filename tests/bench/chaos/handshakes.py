"""Hostile handshakes: silence, single bytes, spoilt hellos, sessions of another name, and the wrong port.

Responsible for what they send. Nothing is expected of the answers.
"""

from __future__ import annotations

import asyncio
import ssl
from contextlib import suppress

from tests.bench.chaos.actors import Actor, Turn
from tests.bench.chaos.ground import APP, VICTIM, Ground, heard
from tests.fakes.clients import RawClient
from tests.features.faults.crowds import closing, crowd

_CROWD = 40
_HOLD_SECONDS = 12.0  # longer than a handshake may take
_HEARD_SECONDS = 0.3
_STEPS_MOST = 20
_NAMES = (APP, VICTIM, "keys.test", "chains.test", "secrets.test", "unknown.test", "a" * 200 + ".test")


def actors(ground: Ground) -> tuple[Actor, ...]:
    """All of them, on the port for TLS but for one."""
    handshakes = Handshakes(ground)
    return (
        Actor("silent handshakes", "client", handshakes.silence, pause_seconds=6.0),
        Actor("handshakes in bytes", "client", handshakes.in_bytes, pause_seconds=1.0),
        Actor("spoilt handshakes", "client", handshakes.spoilt, pause_seconds=0.2),
        Actor("handshakes broken off", "client", handshakes.broken_off, pause_seconds=0.1, at_once=2),
        Actor("sessions of another name", "client", handshakes.other_name, pause_seconds=0.5),
        Actor("wrong ports", "client", handshakes.wrong_port, pause_seconds=0.5),
    )


class Handshakes:
    """One connection a turn, or one crowd."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._tls = ground.client_tls("h2", "http/1.1")

    async def silence(self, turn: Turn) -> None:
        """A whole hello or a part of it, and then nothing."""
        hello = self._hello(turn)
        hello = hello[: turn.dice.choice((0, 1, 5, len(hello) // 2, len(hello)))]
        sockets = await crowd(self._ground.https_port, _CROWD, first_bytes=hello)
        with closing(sockets):
            turn.count("connections", _CROWD)
            await asyncio.sleep(turn.dice.uniform(0.0, _HOLD_SECONDS))

    async def in_bytes(self, turn: Turn) -> None:
        async with RawClient(self._ground.https_port) as client:
            for byte in self._hello(turn):
                client.send(bytes((byte,)))
                await asyncio.sleep(0)
            turn.count("hellos")
            await heard(client, seconds=_HEARD_SECONDS)

    async def spoilt(self, turn: Turn) -> None:
        """Bits of a hello changed, or pieces of it left out or doubled."""
        dice, hello = turn.dice, bytearray(self._hello(turn))
        for _ in range(dice.randint(1, 6)):
            place = dice.randrange(len(hello))
            match dice.randrange(3):
                case 0:
                    hello[place] ^= 1 << dice.randrange(8)
                case 1:
                    del hello[place : place + dice.randint(1, 8)]
                case _:
                    hello[place:place] = hello[place : place + 20]
        async with RawClient(self._ground.https_port) as client:
            client.send(bytes(hello))
            turn.count("hellos")
            await heard(client, seconds=_HEARD_SECONDS)

    async def broken_off(self, turn: Turn) -> None:
        """As much of the work as a client can cause, then a reset."""
        async with RawClient(self._ground.https_port) as client:
            client.send(self._hello(turn))
            turn.count("hellos")
            await client.reader.read(1)
            client.reset()

    async def other_name(self, turn: Turn) -> None:
        """A session that was made for one host, used for another one."""
        first, second = turn.dice.sample((APP, VICTIM), 2)
        tls = self._ground.client_tls()
        tls.maximum_version = ssl.TLSVersion.TLSv1_2  # its session is there when the handshake ends
        session = await self._shaken(tls, first, None)
        if session is not None:
            await self._shaken(tls, second, session)
            turn.count("sessions")

    async def wrong_port(self, turn: Turn) -> None:
        """TLS where there is none, and plain text where TLS is spoken."""
        ground = self._ground
        plain = f"GET / HTTP/1.1\r\nHost: {APP}\r\n\r\n".encode()
        for port, data in ((ground.http_port, self._hello(turn)), (ground.https_port, plain)):
            async with RawClient(port) as client:
                client.send(data)
                turn.count("connections")
                await heard(client, seconds=_HEARD_SECONDS)

    def _hello(self, turn: Turn) -> bytes:
        return hello_of(self._tls, turn.dice.choice(_NAMES))

    async def _shaken(self, tls: ssl.SSLContext, name: str, session: ssl.SSLSession | None) -> ssl.SSLSession | None:
        """The session of a handshake that offers `session`."""
        came, sent = ssl.MemoryBIO(), ssl.MemoryBIO()
        shaking = tls.wrap_bio(came, sent, server_hostname=name, session=session)
        async with RawClient(self._ground.https_port) as client:
            for _ in range(_STEPS_MOST):
                try:
                    shaking.do_handshake()
                except ssl.SSLWantReadError:
                    client.send(sent.read())
                    came.write(await client.reader.read(65536))
                else:
                    break
            client.send(sent.read() + b"\x17\x03\x03\x00\x05hello")
            return shaking.session


def hello_of(tls: ssl.SSLContext, name: str) -> bytes:
    """A ClientHello for a name, as OpenSSL writes it."""
    sent = ssl.MemoryBIO()
    shaking = tls.wrap_bio(ssl.MemoryBIO(), sent, server_hostname=name)
    with suppress(ssl.SSLWantReadError):
        shaking.do_handshake()
    return sent.read()
