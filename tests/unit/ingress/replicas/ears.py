"""A replica that hears, and one that tells it something."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from ingress.replicas.lines import Line, NotHeard, Teller
from ingress.replicas.messages import MESSAGE_BYTES_MOST, MessageRefusal, MessageRefused
from ingress.replicas.port import Ears, open_port
from ingress.replicas.trust import ReplicaCredentials, credentials_of

SECRET = b"one secret, thirty-two bytes long"


class Ear:
    """A replica that hears, and what it has heard."""

    def __init__(self) -> None:
        self.credentials = credentials_of(SECRET)
        self.heard: list[tuple[str, bytes]] = []
        self.refusal: MessageRefusal | None = None

    def hear(self, identity: str, data: bytes) -> str:
        if len(data) > MESSAGE_BYTES_MOST:
            raise MessageRefused(MessageRefusal.TOO_LONG)
        if self.refusal is not None:
            raise MessageRefused(self.refusal)
        self.heard.append((identity, data))
        return "zone-b"


@asynccontextmanager
async def hearing(ear: Ear, port: int = 0, *, connections: int = 128) -> AsyncIterator[int]:
    runner, opened_port = await open_port(
        "127.0.0.1", port, credentials=ear.credentials, ears=Ears(ear.hear), connections=connections
    )
    try:
        yield opened_port
    finally:
        await runner.cleanup()


@asynccontextmanager
async def line_to(port: int, credentials: ReplicaCredentials) -> AsyncIterator[Line]:
    teller = Teller(credentials)
    line = teller.line(f"127.0.0.1:{port}")
    try:
        yield line
    finally:
        await line.close()
        await teller.close()


async def told(line: Line, message: bytes) -> tuple[str, str]:
    await line.open()
    return await line.tell(message)


async def refused_in_the_end(line: Line, message: bytes) -> NotHeard:
    """Not each message is answered, so a refusal is known a few messages later."""
    with pytest.raises(NotHeard) as refused:
        for _ in range(5):
            await told(line, message)
    return refused.value
