"""Messages arrive whole, one a turn of the loop; a full socket never blocks, and an end is told once."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from balancer.workers.channel import Channel
from balancer.workers.messages import (
    MESSAGE_BYTES_MAX,
    TO_PARENT,
    TO_WORKER,
    Explained,
    Ping,
    Pong,
    Serving,
    ToParent,
    ToWorker,
    UnreadablePiece,
    encode,
)
from tests.fakes.sockets import until


class Heard:
    """The parent's end of a channel, and all that it hears."""

    def __init__(self, connection: socket.socket) -> None:
        self.messages: list[ToParent] = []
        self.ends: list[str] = []
        self.written = 0
        self.channel = Channel(
            connection,
            TO_PARENT,
            on_message=self.messages.append,
            on_end=self.ends.append,
            on_written=self._written,
        )

    def _written(self) -> None:
        self.written += 1


@contextmanager
def heard() -> Iterator[tuple[Heard, socket.socket]]:
    """And the other end, as a plain socket that does not block."""
    ours, theirs = socket.socketpair()
    theirs.setblocking(False)
    ear = Heard(ours)
    with theirs:
        yield ear, theirs
        ear.channel.close()


async def test_both_sides_hear_each_other() -> None:
    ours, theirs = socket.socketpair()
    parent = Heard(ours)
    asked: list[ToWorker | UnreadablePiece] = []
    worker = Channel(theirs, TO_WORKER, on_message=asked.append, on_end=lambda _: None)
    parent.channel.send(encode(Ping(1)))
    parent.channel.send(encode(Ping(2, wants_report=True)))
    await until(lambda: len(asked) == 2)
    worker.send(encode(Pong(1)))
    await until(lambda: bool(parent.messages))
    assert asked == [Ping(1), Ping(2, wants_report=True)]
    assert parent.messages == [Pong(1)]
    worker.close()
    await until(lambda: bool(parent.ends))


async def test_a_message_may_come_in_any_parts() -> None:
    with heard() as (parent, theirs):
        for octet in encode(Serving(7)) + encode(Serving(8)):
            theirs.send(bytes((octet,)))
            await asyncio.sleep(0)
        await until(lambda: len(parent.messages) == 2)
        assert parent.messages == [Serving(7), Serving(8)]


async def test_of_many_messages_one_is_delivered_in_each_turn_of_the_loop_and_none_is_late() -> None:
    with heard() as (parent, theirs):
        theirs.send(b"".join(encode(Serving(number)) for number in range(50)))
        most, last = 0, 0
        while len(parent.messages) < 50:
            await asyncio.sleep(0)
            most, last = max(most, len(parent.messages) - last), len(parent.messages)
        assert most == 1
        assert parent.messages == [Serving(number) for number in range(50)]
        theirs.send(encode(Serving(50)))
        await until(lambda: len(parent.messages) == 51)


async def test_what_the_other_side_does_not_read_waits_here_and_is_told_when_it_has_gone() -> None:
    with heard() as (parent, theirs):
        frames = [encode(Explained(number, None, "x" * 100_000)) for number in range(20)]
        for frame in frames:
            parent.channel.send(frame)
        assert parent.channel.pending_bytes > 1_000_000
        received = bytearray()
        while parent.channel.pending_bytes:
            assert not parent.written
            received += await asyncio.get_running_loop().sock_recv(theirs, 1 << 20)
        await until(lambda: parent.written == 1)
        while len(received) < sum(map(len, frames)):
            received += await asyncio.get_running_loop().sock_recv(theirs, 1 << 20)
        assert bytes(received) == b"".join(frames)


async def test_what_the_socket_takes_at_once_is_nothing_to_wait_for() -> None:
    with heard() as (parent, theirs):
        parent.channel.send(encode(Ping(1)))
        assert parent.channel.pending_bytes == 0
        assert await asyncio.get_running_loop().sock_recv(theirs, 1000) == encode(Ping(1))
        assert not parent.written


async def test_all_that_came_before_the_end_is_delivered_before_it() -> None:
    with heard() as (parent, theirs):
        theirs.send(encode(Serving(1)) + encode(Serving(2)) + encode(Serving(3)))
        theirs.close()
        await until(lambda: bool(parent.ends))
        assert parent.messages == [Serving(1), Serving(2), Serving(3)]
        assert parent.ends == ["the other side has closed it"]


@pytest.mark.parametrize(
    ("garbage", "reason"),
    [(b"\0\0\0\x01\xc1", "not a message"), ((MESSAGE_BYTES_MAX + 1).to_bytes(4, "big"), "longer")],
)
async def test_a_broken_message_ends_the_channel(garbage: bytes, reason: str) -> None:
    with heard() as (parent, theirs):
        theirs.send(encode(Serving(1)) + garbage + encode(Serving(2)))
        await until(lambda: bool(parent.ends))
        assert parent.messages == [Serving(1)]
        assert len(parent.ends) == 1 and reason in parent.ends[0]
        with pytest.raises(ConnectionError):
            while theirs.send(b"x"):
                pass


async def test_writing_to_nobody_fails_silently_and_the_end_is_read() -> None:
    with heard() as (parent, theirs):
        for _ in range(20):
            parent.channel.send(encode(Explained(1, None, "x" * 100_000)))
        theirs.close()
        parent.channel.send(encode(Ping(1)))
        await until(lambda: bool(parent.ends))
        parent.channel.send(encode(Ping(2)))
        assert parent.channel.pending_bytes == 0
        assert len(parent.ends) == 1


async def test_a_channel_that_is_closed_here_says_nothing_more() -> None:
    with heard() as (parent, theirs):
        theirs.send(encode(Serving(1)) + encode(Serving(2)))
        while not parent.messages:  # noqa: ASYNC110 - each turn of the loop counts
            await asyncio.sleep(0)
        parent.channel.close()
        parent.channel.close()
        for _ in range(5):
            await asyncio.sleep(0)
        assert (parent.messages, parent.ends) == ([Serving(1)], [])
