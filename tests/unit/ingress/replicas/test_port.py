"""Messages of another replica over real sockets: what is heard and what is refused."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest

from ingress.replicas.lines import NotHeard
from ingress.replicas.messages import MESSAGE_BYTES_MOST, MessageRefusal
from ingress.replicas.trust import credentials_of
from tests.unit.ingress.replicas.ears import SECRET, Ear, hearing, line_to, refused_in_the_end, told

pytestmark = pytest.mark.large


@pytest.mark.parametrize(
    ("refusal", "status", "is_own"), [(MessageRefusal.OWN, "409", True), (MessageRefusal.MALFORMED, "400", False)]
)
async def test_a_refusal_ends_the_stream_and_the_next_message_opens_another_one(
    refusal: MessageRefusal, status: str, is_own: bool
) -> None:
    ear = Ear()
    async with hearing(ear) as port, line_to(port, credentials_of(SECRET)) as line:
        ear.refusal = refusal
        with pytest.raises(NotHeard, match=status) as refused:
            await told(line, b"hello")
        assert refused.value.is_own is is_own
        ear.refusal = None
        assert await told(line, b"hello") == ("zone-b", ear.credentials.identity)
        ear.refusal = refusal
        await refused_in_the_end(line, b"hello")
        assert len(ear.heard) == 1


async def test_a_message_that_is_too_long_ends_the_stream_and_is_told_to_who_judges() -> None:
    ear, here = Ear(), credentials_of(SECRET)
    async with hearing(ear) as port, line_to(port, here) as line:
        assert await told(line, bytes(MESSAGE_BYTES_MOST)) == ("zone-b", ear.credentials.identity)
        await refused_in_the_end(line, bytes(MESSAGE_BYTES_MOST + 1))
        assert await told(line, b"a shorter one") == ("zone-b", ear.credentials.identity)


async def test_who_is_believed_no_longer_is_refused_and_not_told() -> None:
    ear, here = Ear(), credentials_of(SECRET)
    async with hearing(ear) as port, line_to(port, here) as line:
        await told(line, b"hello")
        ear.credentials.believed = frozenset()
        await refused_in_the_end(line, b"hello")
        with pytest.raises(NotHeard, match="403"):
            await told(line, b"hello")
        ear.credentials.believed = None
        await told(line, b"hello")
        stream = line._stream
        here.believed = frozenset()
        await line.open()
        assert line._stream is not stream, "another handshake judges who is there"


async def test_a_replica_that_speaks_stays_when_strangers_need_places() -> None:
    """Of four places one address has two. Who has been silent for longest leaves, and that is no more the replica."""
    ear = Ear()
    async with hearing(ear, connections=4) as port, line_to(port, credentials_of(SECRET)) as line:
        await told(line, b"1")
        stranger, its_writer = await asyncio.open_connection("127.0.0.1", port)
        for _ in range(4):  # the last one is answered, so the stranger has come before
            await told(line, b"more")
        assert len(ear.heard) == 5
        _, another_writer = await asyncio.open_connection("127.0.0.1", port)
        with suppress(ConnectionError):
            assert await stranger.read() == b""
        for _ in range(4):
            await told(line, b"and more")
        assert len({identity for identity, _ in ear.heard}) == 1
        assert len(ear.heard) == 9
        for writer in (its_writer, another_writer):
            writer.close()
