"""The access log delivers every line to a reader that keeps up, and never waits for one that does not."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.logs.accesslines import AccessLogFormat, AccessRecord
from balancer.logs.accesslog import PENDING_BYTES_MAX, AccessLog
from tests.fakes.sockets import until
from tests.properties import examples

pytestmark = pytest.mark.large

# As long as a slow machine may need; nothing waits this long when all is well.
PATIENCE_SECONDS = 30.0

LONG = "x" * 2000
LONG_LINE_BYTES = 2350  # or a few less


class Pipe:
    """The descriptors of a pipe; the test is its reader."""

    def __init__(self) -> None:
        self.read_fd, self.write_fd = os.pipe()
        self.received = bytearray()

    def lines(self) -> int:
        """How many lines have arrived in `received` by now."""
        self.received += self.read()
        return self.received.count(b"\n")

    def read(self, size: int = 1024 * 1024) -> bytes:
        """What is in the pipe by now, `size` bytes of it at most; nothing, too, when its writer is gone."""
        os.set_blocking(self.read_fd, False)
        try:
            return os.read(self.read_fd, size)
        except BlockingIOError:
            return b""

    def stop_reading(self) -> None:
        os.close(self.read_fd)
        self.read_fd = -1

    def close(self) -> None:
        os.close(self.write_fd)
        if self.read_fd >= 0:
            os.close(self.read_fd)


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    pipe = Pipe()
    yield pipe
    pipe.close()


class Drops:
    """Counts what it is told was dropped."""

    def __init__(self) -> None:
        self.lines = 0

    def __call__(self, lines: int) -> None:
        self.lines += lines


def record(number: int = 0, path: str = "/") -> AccessRecord:
    return AccessRecord(
        time=0.0,
        client="10.1.2.3",
        method="GET",
        host="shop.example.com",
        path=path,
        protocol="HTTP/1.1",
        status=200,
        bytes_in=0,
        bytes_out=1,
        duration=0.1,
        endpoint_duration=None,
        namespace="",
        ingress="",
        service="",
        endpoints=(),
        from_zone="zone-a",
        to_zone="unknown",
        locality="unknown",
        reason="",
        request_id=str(number),
    )


def numbers(lines: bytes | bytearray) -> list[int]:
    """The request ids of lines of JSON, all of them whole."""
    assert lines[-1:] in (b"", b"\n")
    return [int(json.loads(line)["request_id"]) for line in lines.splitlines()]


def fill(log: AccessLog, drops: Drops) -> int:
    """Write until a line is dropped; how many were not."""
    accepted = 0
    while drops.lines == 0:
        log.write(record(accepted, path=LONG))
        accepted += 1
    return accepted - 1


async def test_lines_arrive_while_the_log_is_open(pipe: Pipe) -> None:
    log = AccessLog(pipe.write_fd, AccessLogFormat.UPSTREAMINFO, Drops())
    for number in range(3):
        log.write(record(number))
        await until(lambda: pipe.lines() == number + 1)  # noqa: B023
        assert pipe.received.endswith(f" {number}\n".encode())


async def test_lines_of_one_moment_are_written_together_and_in_order(pipe: Pipe) -> None:
    log = AccessLog(pipe.write_fd, AccessLogFormat.JSON, Drops())
    for number in range(100):
        log.write(record(number))
    assert pipe.read() == b""
    await until(lambda: pipe.lines() > 0)
    assert numbers(pipe.received) == list(range(100))


async def test_much_is_written_without_waiting_for_the_loop(pipe: Pipe) -> None:
    log = AccessLog(pipe.write_fd, AccessLogFormat.JSON, Drops())
    for number in range(64 * 1024 // LONG_LINE_BYTES + 2):
        log.write(record(number, path=LONG))
    assert pipe.read().startswith(b'{"time":')


async def test_a_reader_that_stalled_gets_what_was_kept_and_then_what_is_new(pipe: Pipe) -> None:
    drops = Drops()
    log = AccessLog(pipe.write_fd, AccessLogFormat.JSON, drops)
    accepted = fill(log, drops)
    await until(lambda: pipe.lines() == accepted)
    log.write(record(accepted))
    await until(lambda: pipe.lines() == accepted + 1)
    assert numbers(pipe.received) == list(range(accepted + 1))
    assert drops.lines == 1


async def test_a_stalled_reader_costs_lines_but_bounded_memory(pipe: Pipe) -> None:
    drops = Drops()
    log = AccessLog(pipe.write_fd, AccessLogFormat.JSON, drops)
    accepted = fill(log, drops)
    assert PENDING_BYTES_MAX < accepted * LONG_LINE_BYTES < PENDING_BYTES_MAX * 1.1
    for _ in range(100):
        log.write(record(path=LONG))
    assert drops.lines == 101
    log.close(0.01)
    # What was accepted but never written whole counts as dropped once the log is closed.
    assert drops.lines == 101 + accepted - pipe.read().count(b"\n")


async def test_a_greedy_tenant_beside_a_stalled_reader_costs_a_modest_one_no_line(pipe: Pipe) -> None:
    drops = Drops()
    log = AccessLog(pipe.write_fd, AccessLogFormat.JSON, drops)
    lines = [b"greedy".ljust(2000) + b"\n", b"modest".ljust(200) + b"\n"]
    dropped_of_modest = 0
    for number in range(20_000):
        log.write_line(lines[0], "greedy")
        if number % 20 == 0:
            before = drops.lines
            log.write_line(lines[1], "modest")
            dropped_of_modest += drops.lines - before
        if number % 2000 == 0:
            pipe.received += pipe.read()
            await asyncio.sleep(0.015)  # a flush may take a part of what waits
    assert drops.lines > 10_000
    assert dropped_of_modest == 0


@examples(20)
@given(
    st.lists(st.one_of(st.integers(1, 60), st.integers(-9_000, -1), st.just(0)), max_size=8),
)
def test_lines_are_whole_and_in_order_whatever_is_read_between_them(moves: list[int]) -> None:
    """A move is to write so many lines, to read so many bytes (negative), or to let the log flush."""

    async def play(pipe: Pipe) -> int:
        log = AccessLog(pipe.write_fd, AccessLogFormat.JSON, drops)
        written = 0
        for move in moves:
            for _ in range(move):
                log.write(record(written, path=LONG))
                written += 1
            pipe.received += pipe.read(-move) if move < 0 else b""
            if move == 0:
                await asyncio.sleep(0.012)
        close_while_read(log, pipe, written)
        return written

    drops, pipe = Drops(), Pipe()
    try:
        written = asyncio.run(play(pipe))
    finally:
        pipe.close()
    assert numbers(pipe.received) == list(range(written))
    assert drops.lines == 0


def close_while_read(log: AccessLog, pipe: Pipe, lines: int) -> None:
    """Close, which blocks, while a thread reads so that there are so many lines."""

    def read() -> None:
        os.set_blocking(pipe.read_fd, True)
        while pipe.received.count(b"\n") < lines:
            pipe.received += os.read(pipe.read_fd, 10_000)

    reading = threading.Thread(target=read)
    reading.start()
    log.close(PATIENCE_SECONDS)
    reading.join()


async def test_a_reader_that_is_gone_costs_lines_only(pipe: Pipe) -> None:
    pipe.stop_reading()
    drops = Drops()
    log = AccessLog(pipe.write_fd, AccessLogFormat.JSON, drops)
    for _ in range(5):
        log.write(record())
    await until(lambda: drops.lines == 5)
    log.write(record())
    assert drops.lines == 6
    log.close(PATIENCE_SECONDS)
    assert drops.lines == 6


async def test_a_reader_that_leaves_amid_a_line_costs_that_line_too(pipe: Pipe) -> None:
    drops = Drops()
    log = AccessLog(pipe.write_fd, AccessLogFormat.JSON, drops)
    accepted = fill(log, drops)
    taken = pipe.read(100_000).count(b"\n")
    left_in_pipe = 64 * 1024 // LONG_LINE_BYTES
    pipe.stop_reading()
    await until(lambda: drops.lines > 1)
    assert accepted - taken - left_in_pipe <= drops.lines - 1 <= accepted - taken


async def test_closing_writes_what_is_pending(pipe: Pipe) -> None:
    drops = Drops()
    log = AccessLog(pipe.write_fd, AccessLogFormat.JSON, drops)
    log.write(record())
    log.close(0.0)
    assert numbers(pipe.read()) == [0]
    assert drops.lines == 0


async def test_closing_waits_for_a_slow_reader(pipe: Pipe) -> None:
    drops = Drops()
    log = AccessLog(pipe.write_fd, AccessLogFormat.JSON, drops)
    accepted = fill(log, drops)
    close_while_read(log, pipe, accepted)
    assert numbers(pipe.received) == list(range(accepted))
    assert drops.lines == 1


async def test_a_closed_log_drops_and_may_be_closed_again(pipe: Pipe) -> None:
    drops = Drops()
    log = AccessLog(pipe.write_fd, AccessLogFormat.JSON, drops)
    log.close(PATIENCE_SECONDS)
    log.write(record())
    log.close(PATIENCE_SECONDS)
    assert drops.lines == 1
    assert pipe.read() == b""


def test_off_writes_and_counts_nothing_and_needs_no_loop(pipe: Pipe) -> None:
    drops = Drops()
    log = AccessLog(pipe.write_fd, AccessLogFormat.OFF, drops)
    assert not log.enabled
    log.write(record())
    log.close(PATIENCE_SECONDS)
    assert pipe.read() == b""
    assert drops.lines == 0
