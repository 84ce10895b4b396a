"""Messages between two replicas over real sockets: what is heard, what is refused, and who does not answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest
from aiohttp import web

from balancer.connections.listeners import listen, port_of
from ingress.admin.doors import open_doors
from ingress.replicas.messages import MESSAGE_BYTES_MOST, MessageRefusal, MessageRefused
from ingress.replicas.port import Ears, Line, NotHeard, Teller, open_port
from ingress.replicas.trust import PEER_NAME, ReplicaCredentials, credentials_of
from tests.integration.running import until

pytestmark = pytest.mark.large

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


async def test_messages_come_with_the_identity_of_their_sender_and_answers_say_the_zone() -> None:
    ear, here = Ear(), credentials_of(SECRET)
    messages = [b"hello", *(f"and {number} more".encode() for number in range(9))]
    async with hearing(ear) as port, line_to(port, here) as line:
        for message in messages:
            assert await told(line, message) == ("zone-b", ear.credentials.identity)
        await until(lambda: len(ear.heard) == len(messages), seconds=30)
        assert ear.heard == [(here.identity, message) for message in messages]
        assert not line.is_older


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


async def test_one_that_started_anew_at_the_same_place_is_told_over_another_stream() -> None:
    first, second, here = Ear(), Ear(), credentials_of(SECRET)
    async with hearing(first) as port, line_to(port, here) as line:
        assert (await told(line, b"hello"))[1] == first.credentials.identity
    async with hearing(second, port), line_to(port, here) as line:
        assert (await told(line, b"hello"))[1] == second.credentials.identity


async def test_replicas_of_schema_1_hear_and_tell_by_one_request_for_each_message() -> None:
    """The older one has the path of its version alone. After it, one of this version is at the same place."""
    older, newer, here, came = credentials_of(SECRET), Ear(), credentials_of(SECRET), list[bytes]()

    async def answer(request: web.Request) -> web.Response:
        came.append(await request.read())
        return web.Response(status=204, headers={"Zonal-Replica": older.identity, "Zonal-Zone": "zone-c"})

    app = web.Application()
    app.router.add_post("/tell", answer)
    listener = listen("127.0.0.1", 0, purpose="peer")
    port = port_of(listener)
    runner = await open_doors(app, listener, tls=older.server)
    async with line_to(port, here) as line:
        try:
            assert await told(line, b"hello") == ("zone-c", older.identity)
            assert line.is_older
            assert await told(line, b"more") == ("zone-c", older.identity)
        finally:
            await runner.cleanup()
        assert came == [b"hello", b"more"]
        async with hearing(newer, port):
            for message in (b"first", b"second"):
                assert await told(line, message) == ("zone-b", newer.credentials.identity)
                assert not line.is_older
            url = f"https://127.0.0.1:{port}/tell"
            teller = Teller(older)
            async with teller._session.post(url, data=b"old", ssl=older.client, server_hostname=PEER_NAME) as heard:
                assert (heard.status, heard.headers["Zonal-Zone"]) == (204, "zone-b")
            await teller.close()
        await until(lambda: len(newer.heard) == 3, seconds=30)
        assert newer.heard == [(here.identity, b"first"), (here.identity, b"second"), (older.identity, b"old")]


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


async def test_who_does_not_listen_does_not_hear() -> None:
    async with hearing(Ear()) as port:
        pass
    async with line_to(port, credentials_of(SECRET)) as line:
        with pytest.raises(NotHeard):
            await told(line, b"hello")
    teller = Teller(credentials_of(SECRET))
    with pytest.raises(NotHeard):
        await told(teller.line("no place:at all"), b"hello")
    await teller.close()
