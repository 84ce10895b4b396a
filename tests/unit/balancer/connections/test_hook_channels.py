"""The socket to a process of isolated hooks: what is said, what is heard, and how it ends."""

from __future__ import annotations

import asyncio
import socket

import pytest

from balancer.connections.hook_channels import HookChannel
from tests.fakes.sockets import until
from zonal_hooks.talking import Answer, Begun, framed
from zonal_hooks.verdicts import Denied

pytestmark = pytest.mark.large

DENIED = Answer(1, Denied(403))
_MANY_BYTES = 4 * 1024 * 1024  # more than the system keeps for a socket


class Ends:
    """A channel that is open, and the socket of the process. `told` is what was heard, and `lost` why it ended."""

    def __init__(self) -> None:
        ours, self.theirs = socket.socketpair()
        self.theirs.setblocking(False)
        self.told: list[Begun | Answer] = []
        self.lost: list[str] = []
        self.closes = False
        self.channel = HookChannel(ours, self._hear, self._lose)
        self.channel.open()

    def _hear(self, message: Begun | Answer) -> None:
        self.told.append(message)
        if self.closes:
            self.channel.close()

    def _lose(self, how: str) -> None:
        self.lost.append(how)
        self.channel.close()


async def test_what_the_process_says_is_heard_in_order() -> None:
    ends = Ends()
    with ends.theirs as theirs:
        theirs.send(framed(Begun()) + framed(DENIED)[:3])
        await until(lambda: ends.told == [Begun()])
        theirs.send(framed(DENIED)[3:])
        await until(lambda: ends.told == [Begun(), DENIED])
        ends.channel.close()
    assert ends.lost == []


async def test_what_is_not_read_yet_is_kept() -> None:
    ends = Ends()
    said, read = bytes(_MANY_BYTES), bytearray()
    with ends.theirs as theirs:
        ends.channel.say(said)
        ends.channel.say(b"end")
        while len(read) < _MANY_BYTES + 3:
            read += await asyncio.get_running_loop().sock_recv(theirs, _MANY_BYTES)
        ends.channel.close()
    assert bytes(read) == said + b"end"


@pytest.mark.parametrize(
    ("last", "how"), [(b"", "has ended"), (b"\x00\x00\x00\x02\xc1\xc1", "says what makes no sense")]
)
async def test_it_is_told_why_the_process_says_no_more(last: bytes, how: str) -> None:
    ends = Ends()
    with ends.theirs as theirs:
        if last:
            theirs.send(last)
        else:
            theirs.close()
        await until(lambda: ends.lost == [how])


async def test_it_is_told_of_a_process_that_is_found_gone_when_something_is_said() -> None:
    ends = Ends()
    ends.theirs.close()
    ends.channel.say(b"x")
    assert ends.lost == ["has ended"]


async def test_nothing_is_heard_after_the_end() -> None:
    ends = Ends()
    ends.closes = True
    with ends.theirs as theirs:
        theirs.send(framed(DENIED) * 2)
        await until(lambda: ends.told != [])
    assert ends.told == [DENIED]
